// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/parse_number.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/uri.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>

namespace cinnabar::na {
namespace {

constexpr std::size_t endpoints_max = 8;
constexpr std::size_t endpoint_bytes_max = 255;

std::uint64_t hash_of(const AddrBody& body) {
    const std::uint64_t context = std::uint64_t{body.context} << 1 | (body.names_context ? 1 : 0);
    std::uint64_t hash = (body.incarnation ^ body.connection) * 0x9e3779b97f4a7c15u + context;
    hash ^= std::uint64_t{body.parallel} << 56;
    for (const std::string& endpoint : body.endpoints) {
        hash = (hash ^ std::hash<std::string>()(endpoint)) * 0x9e3779b97f4a7c15u;
    }
    return hash;
}

bool same(const AddrBody& a, const AddrBody& b) {
    return a.hash == b.hash && a.context == b.context && a.names_context == b.names_context &&
           a.incarnation == b.incarnation && a.parallel == b.parallel && a.connection == b.connection &&
           a.endpoints == b.endpoints;
}

}  // namespace

// All living addresses of the process. A reference count drops to zero only under the lock of the table, so a body
// found in the table is alive.
class AddrTable {
  public:
    static AddrTable& get() {
        static AddrTable* table = new AddrTable;  // never destroyed, because static Addrs may outlive it otherwise
        return *table;
    }

    Addr intern(std::unique_ptr<AddrBody> made) {
        made->hash = hash_of(*made);
        const std::lock_guard lock(mutex_);
        const auto [begin, end] = bodies_.equal_range(made->hash);
        for (auto at = begin; at != end; ++at) {
            if (!same(*at->second, *made)) continue;
            at->second->references.fetch_add(1, std::memory_order_relaxed);
            return Addr(at->second);
        }
        bodies_.emplace(made->hash, made.get());
        return Addr(made.release());
    }

    void release_last(AddrBody* body) {
        const std::lock_guard lock(mutex_);
        if (body->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        const auto [begin, end] = bodies_.equal_range(body->hash);
        for (auto at = begin; at != end; ++at) {
            if (at->second != body) continue;
            bodies_.erase(at);
            break;
        }
        delete body;
    }

  private:
    std::mutex mutex_;
    std::unordered_multimap<std::uint64_t, AddrBody*> bodies_;
};

void Addr::release() noexcept {
    if (!body_) return;
    std::uint32_t references = body_->references.load(std::memory_order_relaxed);
    while (references > 1) {
        if (body_->references.compare_exchange_weak(references, references - 1, std::memory_order_acq_rel)) {
            body_ = nullptr;
            return;
        }
    }
    AddrTable::get().release_last(std::exchange(body_, nullptr));
}

namespace {

// Makes the body of a name. The name of a process that does not listen reaches nothing, with or without a context.
std::unique_ptr<AddrBody> name_of(std::vector<std::string> endpoints, ContextId context, bool names_context,
                                  Incarnation incarnation) {
    auto body = std::make_unique<AddrBody>();
    body->names_context = names_context && !endpoints.empty();
    body->endpoints = std::move(endpoints);
    body->context = context;
    body->incarnation = incarnation;
    return body;
}

// Parses an endpoint and returns its canonical form; its option "context" goes to `context`.
Result<std::string> parse_endpoint(std::string_view text, std::optional<ContextId>& context) {
    CINNABAR_TRY(Uri uri, Uri::parse(text));
    if (const std::string_view option = uri.option("context"); !option.empty()) {
        context = parse_number<ContextId>(option);
        if (!context || *context == any_context) {
            return Error(Errc::bad_address, "the option context must be a number from 0 to 65534", std::string(text));
        }
    }
    std::erase_if(uri.query, [](const auto& option) { return option.first == "context"; });
    std::string endpoint = uri.to_string();
    if (endpoint.size() > endpoint_bytes_max) {
        return Error(Errc::bad_address, "an address of a peer is at most 255 bytes long");
    }
    return endpoint;
}

}  // namespace

Result<Addr> Addr::parse(std::string_view text) {
    std::vector<std::string> endpoints;
    std::optional<ContextId> context;
    for (const std::string_view one : Uri::split(text)) {
        CINNABAR_TRY(std::string endpoint, parse_endpoint(one, context));
        if (endpoints.size() == endpoints_max) return Error(Errc::bad_address, "a peer has at most 8 endpoints");
        endpoints.push_back(std::move(endpoint));
    }
    return AddrTable::get().intern(name_of(std::move(endpoints), context.value_or(0), context.has_value(), 0));
}

Addr Addr::make(std::vector<std::string> endpoints, ContextId context, Incarnation incarnation) {
    return AddrTable::get().intern(name_of(std::move(endpoints), context, context != 0, incarnation));
}

Addr Addr::of_connection(std::string_view scheme, ContextId held_by, ContextId context, Incarnation claimed, bool own,
                         std::string from, std::optional<HostProcess> process, std::optional<ProvenIdentity> proven) {
    static std::atomic<std::uint64_t> last{0};
    auto body = std::make_unique<AddrBody>();
    body->session_scheme = scheme;
    body->held_by = held_by;
    body->context = context;
    body->incarnation = claimed;
    body->connection = last.fetch_add(1, std::memory_order_relaxed) + 1;
    body->own = own;
    body->from = std::move(from);
    body->process = process;
    body->proven = std::move(proven);
    return AddrTable::get().intern(std::move(body));
}

Addr Addr::with_context(ContextId context) const {
    if (!body_) return *this;
    const bool names_it = body_->names_context || body_->endpoints.empty();
    if (names_it && body_->context == context) return *this;
    auto made = name_of(body_->endpoints, context, true, body_->incarnation);
    made->parallel = body_->parallel;
    return AddrTable::get().intern(std::move(made));
}

Addr Addr::in_parallel(std::uint8_t number) const {
    if (!listens() || body_->parallel == number) return *this;
    auto made = name_of(body_->endpoints, body_->context, body_->names_context, body_->incarnation);
    made->parallel = number;
    return AddrTable::get().intern(std::move(made));
}

std::string Addr::to_string() const {
    if (!body_) return {};
    if (body_->connection != 0) {
        std::string text = "incoming " + (body_->from.empty() ? std::string(body_->session_scheme) : body_->from);
        return body_->context == 0 ? text : text + " context " + std::to_string(body_->context);
    }
    if (body_->endpoints.empty()) {
        return "session:" + std::to_string(body_->incarnation) + "/" + std::to_string(body_->context);
    }
    std::string text = body_->endpoints.front();
    if (body_->names_context) {
        text += (text.find('?') == std::string::npos ? "?context=" : "&context=") + std::to_string(body_->context);
    }
    for (std::size_t i = 1; i < body_->endpoints.size(); ++i) text += "," + body_->endpoints[i];
    return text;
}

std::string Addr::log_name() const noexcept {
    try {
        return to_string();
    } catch (const std::bad_alloc&) {
        return "a peer";
    }
}

std::size_t Addr::encoded_bytes() const noexcept {
    std::size_t bytes = 11;
    if (body_) {
        for (const std::string& endpoint : body_->endpoints) bytes += 1 + endpoint.size();
    }
    return bytes;
}

void Addr::encode(ByteWriter& writer) const noexcept {
    if (!body_) {
        writer.u8(0);
        writer.u16(0);
        writer.u64(0);
        return;
    }
    writer.u8(static_cast<std::uint8_t>(body_->endpoints.size()));
    writer.u16(body_->names_context || body_->endpoints.empty() ? body_->context : any_context);
    writer.u64(body_->incarnation);
    for (const std::string& endpoint : body_->endpoints) {
        writer.u8(static_cast<std::uint8_t>(endpoint.size()));
        writer.bytes(as_bytes(endpoint));
    }
}

Result<Addr> Addr::decode(ByteReader& reader) {
    const std::size_t count = reader.u8();
    const ContextId context = reader.u16();
    const Incarnation incarnation = reader.u64();
    if (!reader.ok() || count > endpoints_max)
        return Error(Errc::protocol, "an encoded address has at most 8 endpoints");
    const bool named = context != any_context;
    if (!named && count == 0) return Error(Errc::protocol, "an encoded address without endpoints has a context");
    std::vector<std::string> endpoints;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string_view text = as_text(reader.view(reader.u8()));
        if (!reader.ok() || !Uri::parse(text).ok()) return Error(Errc::protocol, "an encoded endpoint does not parse");
        endpoints.emplace_back(text);
    }
    if (count == 0 && incarnation == 0) return Addr();
    return AddrTable::get().intern(name_of(std::move(endpoints), named ? context : 0, named, incarnation));
}

}  // namespace cinnabar::na
