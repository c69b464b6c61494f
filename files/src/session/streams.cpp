// SPDX-License-Identifier: BSD-3-Clause
#include "session/streams.hpp"

#include "session/remote_error.hpp"

#include <algorithm>

namespace cinnabar::files {

Streams::Use Streams::use(bool only_first) noexcept {
    Stream* least = &streams_.front();
    for (Stream& stream : streams_) {
        if (!only_first && stream.usable && stream.under_way < least->under_way) least = &stream;
    }
    return {*this, *least};
}

void Streams::Use::failed(const Error& why) const {
    const Errc code = from_remote(why).code;
    const bool by_connection = code == Errc::peer_lost || code == Errc::unreachable || code == Errc::timed_out;
    if (by_connection) streams_.lose(stream_);
}

std::uint32_t Streams::usable() const noexcept {
    return static_cast<std::uint32_t>(std::ranges::count_if(streams_, &Stream::usable));
}

void Streams::lose(Stream& stream) noexcept {
    stream.usable = false;
    count_.settle(usable());
}

void Streams::keep_wanted() noexcept {
    std::uint32_t kept = 0;
    for (Stream& stream : streams_) {
        if (stream.usable) stream.usable = kept++ < count_.wanted();
    }
}

}  // namespace cinnabar::files
