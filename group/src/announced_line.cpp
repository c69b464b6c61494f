// SPDX-License-Identifier: BSD-3-Clause
#include "announced_line.hpp"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/printable.hpp>
#include <cinnabar/rpc/proc.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cinnabar::group {
namespace {

constexpr std::string_view line_digits = "0123456789abcdef";

// Above 15: it is no digit.
constexpr unsigned value_of_digit(char digit) noexcept {
    if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
    return digit >= 'a' && digit <= 'f' ? static_cast<unsigned>(digit - 'a') + 10 : 16;
}

// Empty: these are not digits of whole bytes.
std::vector<std::byte> bytes_of_digits(std::string_view digits) {
    std::vector<std::byte> bytes;
    if (digits.size() % 2 != 0) return bytes;
    bytes.reserve(digits.size() / 2);
    for (std::size_t i = 0; i < digits.size(); i += 2) {
        const unsigned high = value_of_digit(digits[i]);
        const unsigned low = value_of_digit(digits[i + 1]);
        if (high > 15 || low > 15) return {};
        bytes.push_back(static_cast<std::byte>(high << 4 | low));
    }
    return bytes;
}

}  // namespace

std::string announced_line(std::string_view address, const Claim& claim) {
    std::vector<std::byte> bytes(rpc::proc_size(claim));
    std::size_t used = 0;
    (void)rpc::encode(Bytes(bytes), claim, used);
    std::string line(address);
    line.reserve(address.size() + 1 + 2 * used);
    line += ' ';
    for (std::size_t i = 0; i < used; ++i) {
        const auto byte = std::to_integer<unsigned>(bytes[i]);
        line += line_digits[byte >> 4];
        line += line_digits[byte & 15];
    }
    return line;
}

std::string_view address_of_line(std::string_view line) noexcept {
    return line.substr(0, std::min(line.rfind(' '), line.size()));
}

Result<Claim> claim_of_line(std::string_view line) {
    const std::string_view address = address_of_line(line);
    const std::vector<std::byte> bytes = bytes_of_digits(line.substr(std::min(address.size() + 1, line.size())));
    Claim claim;
    const bool whole =
        rpc::decode(ConstBytes(bytes), claim) == Errc::ok && rpc::proc_size(claim) == bytes.size() && claim.profile;
    if (!whole || claim.incarnation != 1 || claim.state != State::alive || claim.process == 0)
        return Error(Errc::protocol, "this is not the line of a process that announces itself", printable(address));
    return claim;
}

}  // namespace cinnabar::group
