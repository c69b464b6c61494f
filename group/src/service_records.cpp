// SPDX-License-Identifier: BSD-3-Clause
#include "service_records.hpp"

#include <arpa/nameser.h>
#include <resolv.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

namespace cinnabar::group {
namespace {

// Reads a DNS message, whose numbers are big-endian. Errors are sticky.
class DnsReader {
  public:
    explicit DnsReader(ConstBytes message) : message_(message) {}

    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] std::size_t at() const noexcept { return at_; }
    std::uint16_t u16() noexcept {
        if (!skip(2)) return 0;
        const auto high = std::to_integer<unsigned>(message_[at_ - 2]);
        return static_cast<std::uint16_t>(high << 8 | std::to_integer<unsigned>(message_[at_ - 1]));
    }
    bool skip(std::size_t bytes) noexcept {
        ok_ = ok_ && bytes <= message_.size() - at_;
        if (ok_) at_ += bytes;
        return ok_;
    }
    // A name, which may continue at an earlier place of the message. Unusual characters are escaped by '\'.
    std::string name() {
        std::array<char, NS_MAXDNAME> text{};
        const auto* const begin = reinterpret_cast<const unsigned char*>(message_.data());
        const int used = ok_ ? ::dn_expand(begin, begin + message_.size(), begin + at_, text.data(), text.size()) : -1;
        ok_ = used >= 0 && skip(static_cast<std::size_t>(used));
        return ok_ ? std::string(text.data()) : std::string();
    }

  private:
    ConstBytes message_;
    std::size_t at_ = 0;
    bool ok_ = true;
};

bool is_host_name(std::string_view name) {
    return std::all_of(name.begin(), name.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    });
}

// Reads the data of a record, of `bytes` bytes.
std::optional<ServiceRecord> read_service(DnsReader& reader, std::size_t bytes) {
    const std::size_t end = reader.at() + bytes;
    ServiceRecord record;
    record.priority = reader.u16();
    record.weight = reader.u16();
    record.port = reader.u16();
    record.host = reader.name();
    const bool sound = reader.ok() && reader.at() == end && is_host_name(record.host);
    if (!sound || (record.port == 0 && !record.host.empty())) return {};
    return record;
}

// Chooses the record of [first, last) to try first, and moves it to the front. The chance of each record is in
// proportion to its weight; records of weight 0 have a very small chance.
void choose_first(std::vector<ServiceRecord>::iterator first, std::vector<ServiceRecord>::iterator last,
                  Random& random) {
    std::uint64_t sum = 0;
    for (auto each = first; each != last; ++each) sum += each->weight;
    const std::uint64_t wanted = random.below(sum + 1);
    sum = 0;
    for (auto each = first; each != last; ++each) {
        sum += each->weight;
        if (sum < wanted) continue;
        std::rotate(first, each, each + 1);
        return;
    }
}

}  // namespace

Result<std::vector<ServiceRecord>> decode_services(ConstBytes message) {
    const Error malformed(Errc::protocol, "the name server's answer is malformed");
    DnsReader reader(message);
    (void)reader.u16();  // the id
    const std::uint16_t flags = reader.u16();
    const std::uint16_t questions = reader.u16();
    const std::uint16_t answers = reader.u16();
    reader.skip(4);
    constexpr std::uint16_t answer_flag = 0x8000;
    constexpr std::uint16_t code_mask = 0x000f;
    if (!reader.ok() || (flags & answer_flag) == 0 || (flags & code_mask) != ns_r_noerror) return malformed;
    for (unsigned i = 0; i < questions && reader.ok(); ++i) {
        (void)reader.name();
        reader.skip(4);
    }
    std::vector<ServiceRecord> records;
    for (unsigned i = 0; i < answers; ++i) {
        (void)reader.name();
        const std::uint16_t type = reader.u16();
        const std::uint16_t of_class = reader.u16();
        reader.skip(4);
        const std::uint16_t bytes = reader.u16();
        if (!reader.ok()) return malformed;
        if (type != ns_t_srv || of_class != ns_c_in) {
            reader.skip(bytes);
            continue;
        }
        std::optional<ServiceRecord> record = read_service(reader, bytes);
        if (!record) return malformed;
        if (record->host.empty() || std::find(records.begin(), records.end(), *record) != records.end()) continue;
        records.push_back(*std::move(record));
    }
    if (!reader.ok()) return malformed;
    return records;
}

void order_services(std::vector<ServiceRecord>& records, Random& random) {
    std::sort(records.begin(), records.end(), [](const ServiceRecord& one, const ServiceRecord& other) {
        return one.priority != other.priority ? one.priority < other.priority : one.weight < other.weight;
    });
    for (auto first = records.begin(); first != records.end(); ++first) {
        const auto last = std::find_if(first, records.end(), [priority = first->priority](const ServiceRecord& each) {
            return each.priority != priority;
        });
        choose_first(first, last, random);
    }
}

}  // namespace cinnabar::group
