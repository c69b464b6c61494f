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
    // `root` and `in` must outlive this object. `in` has passed check_pack().
    ReadPack(const Root& root, const ReadPackIn& in);

    // Answers for a file with `why`; it is not read.
    void refuse(std::size_t file, const Error& why);
    // Reads the files from `begin` to before `end`, each into its place in `window`, which has pack_bytes() bytes. Any
    // thread; call it once for each file.
    void read(std::size_t begin, std::size_t end, Bytes window);
    // The parts of the window that were read. The others may contain data of other clients.
    [[nodiscard]] std::vector<ByteRange> ranges() const;
    [[nodiscard]] const ReadPackOut& out() const noexcept { return out_; }

  private:
    // again: see GivenFile. `text_left` is how many bytes of attributes the answer still has room for.
    [[nodiscard]] Result<void> read_one(std::size_t file, Bytes content, std::size_t& text_left);

    const Root& root_;
    const ReadPackIn& in_;
    ReadPackOut out_;
};

}  // namespace cinnabar::files
