// SPDX-License-Identifier: BSD-3-Clause
// Address strings: the text of a parsed URI parses to the same, and an address is unchanged on the wire.
#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/uri.hpp>

using namespace cinnabar;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    if (const auto uri = na::Uri::parse(text)) {
        const auto again = na::Uri::parse(uri->to_string());
        CINNABAR_ASSERT(again.ok() && *again == *uri);
        (void)uri->option("context");
    }
    if (const auto addr = na::Addr::parse(text)) {
        CINNABAR_ASSERT(addr->listens());
        std::vector<std::byte> encoded(addr->encoded_bytes());
        ByteWriter writer(encoded);
        addr->encode(writer);
        ByteReader reader(encoded);
        const auto again = na::Addr::decode(reader);
        CINNABAR_ASSERT(again.ok() && reader.left() == 0 && again->to_string() == addr->to_string());
    }
    return 0;
}
