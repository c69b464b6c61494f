// SPDX-License-Identifier: BSD-3-Clause
// Reads many small files for one call, one after another into a window. The files are divided among the disk threads.
// An error of one file does not affect the others.
#pragma once

#include "file/blocks.hpp"
#include "session/protocol.hpp"

#include <cinnabar/files/root.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cinnabar::files {

class ReadPack {
  public:
    // `root` and `files` must outlive this object. `files` have passed check_pack(). `text_bytes`: how many bytes of
    // extended attributes the answer has room for.
    ReadPack(const Root& root, const std::vector<WantedFile>& files, const ExtendedKinds& extended,
             std::size_t text_bytes = pack_text_bytes_max);

    // Sets the answer for a file to the error `why`; the file is not read.
    void refuse(std::size_t file, const Error& why);
    // Reads the files from `begin` to before `end`, each into its place in `window`, which has pack_bytes() bytes. Any
    // thread; call it once for each file.
    void read(std::size_t begin, std::size_t end, Bytes window);
    // The parts of the window that were read. The others may contain data of other clients.
    [[nodiscard]] std::vector<ByteRange> ranges() const;
    // Sets the answer for each sparse file that was read to the error `again`, for a caller that does not move sparse
    // files in packs.
    void leave_out_sparse();
    // Moves the parts of the window that were read to its beginning, one after another; returns their total size.
    [[nodiscard]] std::size_t close_gaps(Bytes window) const;
    [[nodiscard]] const ReadPackOut& out() const noexcept { return out_; }

  private:
    // again: see GivenFile. `text_left` is how many bytes of attributes the answer still has room for.
    [[nodiscard]] Result<void> read_one(std::size_t file, Bytes content, std::size_t& text_left);

    const Root& root_;
    const std::vector<WantedFile>& files_;
    const ExtendedKinds extended_;
    const std::size_t text_bytes_;
    ReadPackOut out_;
};

}  // namespace cinnabar::files
