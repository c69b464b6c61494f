// SPDX-License-Identifier: BSD-3-Clause
#include "launch/labels.hpp"

#include "terminal/write_all.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace cinnabar::tools::launch {

std::string LineLabels::add(std::string_view text) {
    std::string whole;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        line_ += text.substr(0, end);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        if (end == text.npos && line_.size() < line_bytes_max) break;
        whole += rest();
    }
    return whole;
}

std::string LineLabels::rest() {
    std::string text = label_ + line_ + "\n";
    line_.clear();
    return text;
}

void LabelledStream::pass_on() {
    std::array<char, 65'536> part;
    const ssize_t got = ::read(from_.get(), part.data(), part.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) return close();
    const std::string lines = lines_.add({part.data(), static_cast<std::size_t>(got)});
    write_all(to_, lines);
}

void LabelledStream::close() {
    if (!from_) return;
    from_.reset();
    if (lines_.unfinished()) write_all(to_, lines_.rest());
}

}  // namespace cinnabar::tools::launch
