// SPDX-License-Identifier: BSD-3-Clause
#include "far_segments.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/bulk/far_lender.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/remote_region.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace cinnabar::bulk {

// The state that handles share: the segments and the registrations made so far. The list of registrations is read
// without a lock, so registrations are added only at its front, and removed only with the RegionBody.
class RegionBody {
  public:
    RegionBody(std::span<const na::Segment> from, na::Access access) : access_(access) {
        segments_.reserve(from.size());
        ends_.reserve(from.size());
        std::uint64_t end = 0;
        for (const na::Segment& segment : from) {
            if (segment.bytes == 0) continue;
            segments_.push_back(segment);
            ends_.push_back(end += segment.bytes);
        }
    }
    ~RegionBody() {
        for (Registration* at = head_.load(std::memory_order_acquire); at;) {
            delete std::exchange(at, at->next);
        }
        if (owned_) give_back(owned_, owned_bytes_, provider_.get());
    }
    RegionBody(const RegionBody&) = delete;
    RegionBody& operator=(const RegionBody&) = delete;

    // A region of blocks of another region.
    RegionBody(std::vector<na::Segment> segments, na::Access access, Region base)
        : segments_(std::move(segments)), access_(access), base_(std::move(base)) {
        ends_.reserve(segments_.size());
        std::uint64_t end = 0;
        for (const na::Segment& segment : segments_) ends_.push_back(end += segment.bytes);
    }

    // Frees memory that a region allocated: through the provider, or by munmap if the provider is null.
    static void give_back(void* memory, std::size_t bytes, na::Transport* provider) noexcept {
        if (provider) {
            provider->free_memory(memory, bytes);
        } else {
            ::munmap(memory, bytes);
        }
    }
    // Frees the memory in the destructor.
    void adopt(void* memory, std::size_t bytes, std::shared_ptr<na::Transport> provider) noexcept {
        owned_ = memory;
        owned_bytes_ = bytes;
        provider_ = std::move(provider);
    }

    // `parts`: the regions that own the memory.
    void add_far(std::vector<FarSegment> far, std::vector<Region> parts) noexcept {
        far_ = std::move(far);
        parts_ = std::move(parts);
    }

    [[nodiscard]] std::span<const na::Segment> segments() const noexcept { return segments_; }
    [[nodiscard]] std::span<const FarSegment> far_segments() const noexcept { return far_; }
    // The regions that a joined region was made of, in order.
    [[nodiscard]] std::span<const Region> parts() const noexcept { return parts_; }
    [[nodiscard]] std::span<const std::uint64_t> ends() const noexcept { return ends_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return ends_.empty() ? 0 : ends_.back(); }
    [[nodiscard]] na::Access access() const noexcept { return access_; }
    // The region whose blocks this one selects; empty if it has memory of its own.
    [[nodiscard]] const Region& base() const noexcept { return base_; }
    [[nodiscard]] std::size_t segment_at(std::uint64_t offset) const noexcept {
        return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), offset) - ends_.begin());
    }

    [[nodiscard]] Result<na::Memory*> memory_on(const std::shared_ptr<na::Transport>& transport) {
        if (na::Memory* known = find(*transport)) return known;
        const std::lock_guard lock(mutex_);
        if (na::Memory* known = find(*transport)) return known;
        if (!far_.empty() && transport->scheme() != far_scheme)
            return Error(Errc::unsupported, "a transport cannot register a file or the memory of a device");
        auto memory = transport->register_memory(segments_, access_);
        if (!memory) return std::move(memory).error();
        auto* made = new Registration{transport, *std::move(memory), head_.load(std::memory_order_relaxed)};
        head_.store(made, std::memory_order_release);
        return made->memory.get();
    }

    void begin_quarantine(Quarantine& quarantine) noexcept {
        const std::lock_guard lock(mutex_);
        quarantine.next = quarantined_.load(std::memory_order_relaxed);
        quarantined_.store(&quarantine, std::memory_order_relaxed);
    }
    void end_quarantine(Quarantine& quarantine) noexcept {
        const std::lock_guard lock(mutex_);
        Quarantine* head = quarantined_.load(std::memory_order_relaxed);
        Quarantine** at = &head;
        while (*at != &quarantine) at = &(*at)->next;
        *at = quarantine.next;
        quarantined_.store(head, std::memory_order_release);
    }
    [[nodiscard]] bool quarantined(std::uint64_t offset, std::uint64_t bytes) noexcept {
        if (!quarantined_.load(std::memory_order_acquire)) return false;
        const std::lock_guard lock(mutex_);
        const Quarantine* at = quarantined_.load(std::memory_order_relaxed);
        while (at && (at->offset >= offset + bytes || offset >= at->offset + at->bytes)) at = at->next;
        return at != nullptr;
    }

  private:
    struct Registration {
        std::shared_ptr<na::Transport> transport;  // must outlive `memory`
        std::unique_ptr<na::Memory> memory;
        Registration* next;
    };

    [[nodiscard]] na::Memory* find(const na::Transport& transport) const noexcept {
        const Registration* at = head_.load(std::memory_order_acquire);
        while (at && at->transport.get() != &transport) at = at->next;
        return at ? at->memory.get() : nullptr;
    }

    std::vector<na::Segment> segments_;
    std::vector<std::uint64_t> ends_;
    std::vector<FarSegment> far_;  // as many as segments, or none
    std::vector<Region> parts_;
    const na::Access access_;
    const Region base_;
    void* owned_ = nullptr;
    std::size_t owned_bytes_ = 0;
    std::shared_ptr<na::Transport> provider_;
    std::atomic<Registration*> head_{nullptr};
    std::atomic<Quarantine*> quarantined_{nullptr};
    std::mutex mutex_;  // guards registering and the list of quarantines
};

namespace {

// Calls f(piece) for the pieces of memory behind [offset, offset + bytes) of the body, in order.
template <typename F>
void for_each_piece(const RegionBody& body, std::uint64_t offset, std::uint64_t bytes, F&& f) {
    if (bytes == 0) return;
    for (std::size_t index = body.segment_at(offset); bytes > 0; ++index) {
        const na::Segment& segment = body.segments()[index];
        const std::uint64_t skip = offset - (body.ends()[index] - segment.bytes);
        const std::uint64_t take = std::min(segment.bytes - skip, bytes);
        f(Bytes(segment.base + skip, take));
        offset += take;
        bytes -= take;
    }
}

// Maps memory; returns null on failure. Memory of 2 MiB and more is aligned to huge pages, and huge pages are requested
// for it: registering and copying such memory, even between processes, takes at most half the time.
void* map_memory(std::size_t bytes) noexcept {
    constexpr std::size_t huge = 2 * 1024 * 1024;
    const std::size_t spare = bytes >= huge ? huge : 0;
    if (bytes > SIZE_MAX - spare) return nullptr;
    void* const mapped = ::mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    auto* memory = static_cast<std::byte*>(mapped);
    if (spare > 0) {
        const std::size_t skip = (huge - reinterpret_cast<std::uintptr_t>(memory) % huge) % huge;
        if (skip > 0) (void)::munmap(memory, skip);
        memory += skip;
        if (spare > skip) (void)::munmap(memory + bytes, spare - skip);
        (void)::madvise(memory, bytes, MADV_HUGEPAGE);
    }
    // Forked children do not inherit the memory. Otherwise, copy-on-write after a fork could give this process other
    // pages than those that the hardware has pinned.
    (void)::madvise(memory, bytes, MADV_DONTFORK);
    return memory;
}

}  // namespace

Region::Region(std::shared_ptr<RegionBody> body, std::uint64_t offset, std::uint64_t bytes) noexcept
    : body_(std::move(body)), offset_(offset), bytes_(bytes) {}

Result<Region> Region::expose(std::span<const na::Segment> segments, na::Access access) {
    for (const na::Segment& segment : segments) {
        if (!segment.base && segment.bytes > 0)
            return Error(Errc::invalid_argument, "a segment has a size but a null address");
    }
    auto body = std::make_shared<RegionBody>(segments, access);
    const std::uint64_t bytes = body->bytes();
    if (bytes == 0) return Error(Errc::invalid_argument, "a region needs at least one byte");
    return Region(std::move(body), 0, bytes);
}

Result<Region> Region::of_segments(std::vector<na::Segment> segments, std::vector<FarSegment> far,
                                   std::vector<Region> parts, na::Access access) {
    CINNABAR_ASSERT(segments.size() == far.size());
    auto body = std::make_shared<RegionBody>(segments, access);
    body->add_far(std::move(far), std::move(parts));
    const std::uint64_t bytes = body->bytes();
    return Region(std::move(body), 0, bytes);
}

Result<Region> Region::expose(Bytes bytes, na::Access access) {
    const na::Segment segment{bytes.data(), bytes.size()};
    return expose(std::span(&segment, 1), access);
}

Result<Region> Region::expose(ConstBytes bytes) {
    // Never written: writing needs Access::write, which this region lacks.
    return expose(Bytes(const_cast<std::byte*>(bytes.data()), bytes.size()), na::Access::read);
}

Result<Region> Region::allocate(std::size_t bytes, na::Access access, const std::shared_ptr<na::Transport>& preferred) {
    if (bytes == 0) return Error(Errc::invalid_argument, "a region needs at least one byte");
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (bytes > SIZE_MAX - page) return Error(Errc::out_of_memory, "more bytes than the machine can address");
    const std::size_t mapped = (bytes + page - 1) / page * page;
    void* memory = preferred ? preferred->allocate_memory(mapped) : nullptr;
    const bool provided = memory != nullptr;
    if (!provided) memory = map_memory(mapped);
    if (!memory) return Error(Errc::out_of_memory, "cannot map memory for a region", {}, errno);
    const na::Segment segment{static_cast<std::byte*>(memory), bytes};
    try {
        auto body = std::make_shared<RegionBody>(std::span(&segment, 1), access);
        body->adopt(memory, mapped, provided ? preferred : nullptr);
        return Region(std::move(body), 0, bytes);
    } catch (const std::bad_alloc&) {
        RegionBody::give_back(memory, mapped, provided ? preferred.get() : nullptr);
        return Error(Errc::out_of_memory, "allocating a region");
    }
}

Region Region::slice(std::uint64_t offset, std::uint64_t bytes) const {
    CINNABAR_ASSERT(offset <= bytes_ && bytes <= bytes_ - offset);
    return Region(body_, offset_ + offset, bytes);
}

Region Region::whole() const noexcept { return body_ ? Region(body_, 0, body_->bytes()) : Region(); }

Result<Region> Region::select(const Blocks& blocks, na::Access access) const {
    if (blocks.empty() || blocks.end() > bytes_)
        return Error(Errc::invalid_argument, "the blocks do not lie inside the region");
    if (!na::allows(this->access(), access))
        return Error(Errc::permission, "more access than the region was made with: expose it for more");
    if (na::allows(access, na::Access::write) && blocks.overlap())
        return Error(Errc::invalid_argument, "blocks that are written must not overlap");
    std::vector<na::Segment> segments;
    std::vector<FarSegment> far;
    segments.reserve(std::min<std::uint64_t>(blocks.count(), descriptor_segments_max));
    BlockWalk walk(blocks);
    BlockPiece piece;
    while (walk.next(bytes_, piece)) {
        if (is_far()) {
            append_far_segments(slice(piece.offset, piece.bytes), segments, far);
        } else {
            for_each_piece(*body_, offset_ + piece.offset, piece.bytes, [&segments](Bytes part) {
                segments.push_back({part.data(), part.size()});
            });
        }
        if (segments.size() > descriptor_segments_max)
            return Error(Errc::too_large, "more than descriptor_segments_max pieces: make several regions");
    }
    auto body = std::make_shared<RegionBody>(std::move(segments), access, *this);
    body->add_far(std::move(far), {});
    return Region(std::move(body), 0, blocks.bytes());
}

// A region of blocks is in quarantine whenever its base region is, because all lends are accounted in the base.
bool Region::quarantined() const noexcept {
    if (body_ && body_->base()) return body_->base().quarantined();
    return body_ && body_->quarantined(offset_, bytes_);
}

void Region::begin_quarantine(Quarantine& quarantine) const noexcept {
    if (body_->base()) return body_->base().begin_quarantine(quarantine);
    quarantine.offset = offset_;
    quarantine.bytes = bytes_;
    body_->begin_quarantine(quarantine);
}

void Region::quarantine_for_good() const noexcept {
    struct Kept {
        Region region;
        Quarantine quarantine;
        Kept* next;
    };
    static constinit std::atomic<Kept*> all{nullptr};
    auto* const kept = new (std::nothrow) Kept{*this, {}, all.load(std::memory_order_relaxed)};
    if (!kept) return;
    begin_quarantine(kept->quarantine);
    while (!all.compare_exchange_weak(kept->next, kept, std::memory_order_relaxed)) {
    }
    // The parts of a joined region are used by themselves, too; so are those of a region whose blocks this one selects.
    if (body_->base()) return body_->base().quarantine_for_good();
    std::uint64_t part_begin = 0;
    for (const Region& part : body_->parts()) {
        const std::uint64_t part_end = part_begin + part.bytes();
        const std::uint64_t begin = std::max(offset_, part_begin);
        const std::uint64_t end = std::min(offset_ + bytes_, part_end);
        if (begin < end) part.slice(begin - part_begin, end - begin).quarantine_for_good();
        part_begin = part_end;
    }
}

void Region::end_quarantine(Quarantine& quarantine) const noexcept {
    if (body_->base()) return body_->base().end_quarantine(quarantine);
    body_->end_quarantine(quarantine);
}

na::Access Region::access() const noexcept { return body_ ? body_->access() : na::Access::read; }

std::span<const na::Segment> Region::segments() const noexcept {
    return body_ ? body_->segments() : std::span<const na::Segment>();
}

std::span<const FarSegment> Region::far_segments() const noexcept {
    return body_ ? body_->far_segments() : std::span<const FarSegment>();
}

bool Region::is_far() const noexcept { return !far_segments().empty(); }

std::span<const std::uint64_t> Region::segment_ends() const noexcept {
    return body_ ? body_->ends() : std::span<const std::uint64_t>();
}

Bytes Region::contiguous() const noexcept {
    if (bytes_ == 0 || is_far()) return {};
    const std::size_t index = body_->segment_at(offset_);
    if (offset_ + bytes_ > body_->ends()[index]) return {};
    const na::Segment& segment = body_->segments()[index];
    return {segment.base + (offset_ - (body_->ends()[index] - segment.bytes)), static_cast<std::size_t>(bytes_)};
}

void Region::copy_out(std::uint64_t offset, Bytes to) const noexcept {
    CINNABAR_ASSERT(offset <= bytes_ && to.size() <= bytes_ - offset && !is_far());
    std::byte* at = to.data();
    for_each_piece(*body_, offset_ + offset, to.size(), [&at](Bytes piece) {
        std::memcpy(at, piece.data(), piece.size());
        at += piece.size();
    });
}

void Region::copy_in(std::uint64_t offset, ConstBytes from) const noexcept {
    CINNABAR_ASSERT(offset <= bytes_ && from.size() <= bytes_ - offset && !is_far());
    const std::byte* at = from.data();
    for_each_piece(*body_, offset_ + offset, from.size(), [&at](Bytes piece) {
        std::memcpy(piece.data(), at, piece.size());
        at += piece.size();
    });
}

Result<na::Memory*> Region::memory_on(const std::shared_ptr<na::Transport>& transport) const {
    CINNABAR_ASSERT(body_ && transport);
    return body_->memory_on(transport);
}

}  // namespace cinnabar::bulk
