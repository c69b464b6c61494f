// SPDX-License-Identifier: BSD-3-Clause
// What a server knows of the remains that its clients have left since it started: how many bytes the server compared
// with the client's checksums when the bytes arrived, and the state in which the staged file was left. As long as
// nothing changes on either side, these bytes need not be read again; Upload::use_known decides how many of them count.
// Kept in memory only: after a restart nothing is known. Any thread.
#pragma once

#include "file/checksum.hpp"
#include "session/source_mark.hpp"

#include <cinnabar/files/file_stamp.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace cinnabar::files {

class KnownRemains {
  public:
    struct Part {
        std::uint64_t bytes = 0;  // from the beginning of the file
        Checksum sum;             // of these bytes
    };
    // The client, and the mark of its source file. A mark alone proves nothing: another client that learns the mark
    // could leave other data under the same mark.
    struct Sender {
        std::string client;  // client_name()
        SourceMark source{};
        friend bool operator==(const Sender&, const Sender&) = default;
    };
    // Remembers what is known of the staged file of `name`, which has been left in this state.
    void put(const std::string& name, const FileStamp& left, const Sender& sender, Part part);
    // Returns what is known of the staged file of `name`, if the file is still in the state in which it was left, and
    // comes from the same sender. Forgets what is known in any case.
    [[nodiscard]] std::optional<Part> take(const std::string& name, const FileStamp& found, const Sender& sender);

  private:
    struct Entry {
        FileStamp left;
        Sender sender;
        Part part;
        std::uint64_t number = 0;  // entries are numbered in order
    };
    std::mutex mutex_;
    std::map<std::string, Entry, std::less<>> entries_;  // at most remains_max
    std::uint64_t next_ = 0;
};

}  // namespace cinnabar::files
