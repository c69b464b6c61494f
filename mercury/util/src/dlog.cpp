// SPDX-License-Identifier: BSD-3-Clause
#include <mercury_dlog.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string>

namespace {

using Writer = int (*)(FILE*, const char*, ...);

class Lock {
  public:
    Lock(hg_dlog& log, bool only_try) : log_(log) {
        held_ = !only_try || hg_thread_mutex_try_lock(&log_.dlock) == HG_UTIL_SUCCESS;
        if (!only_try) hg_thread_mutex_lock(&log_.dlock);
        if (!held_) (void)std::fprintf(stderr, "the log '%s' is locked and not written\n", name(log_));
    }
    ~Lock() {
        if (held_) hg_thread_mutex_unlock(&log_.dlock);
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    explicit operator bool() const { return held_; }

    static const char* name(const hg_dlog& log) { return log.dlog_magic + std::strlen(HG_DLOG_STDMAGIC); }

  private:
    hg_dlog& log_;
    bool held_;
};

// C code refers to a counter by a pointer to its value.
template <class Counter, class Value>
Counter* counter_of(Value* value) {
    return reinterpret_cast<Counter*>(reinterpret_cast<char*>(value) - offsetof(Counter, c));
}

// Requires: the lock is held.
void write_counters(const hg_dlog& log, Writer write, FILE* stream) {
    (void)write(stream, "# counters of %s\n", Lock::name(log));
    hg_dlog_dcount32* small;
    TAILQ_FOREACH(small, &log.cnts32, l) {
        (void)write(stream, "# %s: %" PRId32 " [%s]\n", small->name, hg_atomic_get32(&small->c), small->descr);
    }
    hg_dlog_dcount64* large;
    TAILQ_FOREACH(large, &log.cnts64, l) {
        (void)write(stream, "# %s: %" PRId64 " [%s]\n", large->name, hg_atomic_get64(&large->c), large->descr);
    }
}

// Requires: the lock is held. Oldest first.
void write_entries(const hg_dlog& log, Writer write, FILE* stream) {
    (void)write(stream, "# entries of %s: %u\n", Lock::name(log), log.leadds);
    const unsigned first = log.leadds < log.lesize ? 0 : log.lefree;
    for (unsigned i = 0; i < log.leadds; ++i) {
        const hg_dlog_entry& entry = log.le[(first + i) % log.lesize];
        (void)write(stream, "# [%lf] %s:%u %s() %s %p\n", hg_time_to_double(entry.time), entry.file, entry.line,
                    entry.func, entry.msg != nullptr ? entry.msg : "", entry.data);
    }
}

}  // namespace

struct hg_dlog* hg_dlog_alloc(char* name, unsigned int lesize, int leloop) {
    std::unique_ptr<hg_dlog_entry[]> entries(new (std::nothrow) hg_dlog_entry[lesize]{});
    std::unique_ptr<hg_dlog> log(new (std::nothrow) hg_dlog{});
    if (!entries || !log || hg_thread_mutex_init(&log->dlock) != HG_UTIL_SUCCESS) return nullptr;
    constexpr std::size_t magic_size = sizeof(HG_DLOG_STDMAGIC) - 1;
    std::memcpy(log->dlog_magic, HG_DLOG_STDMAGIC, magic_size);
    std::memcpy(log->dlog_magic + magic_size, name,
                std::min(std::strlen(name), sizeof(log->dlog_magic) - magic_size - 1));
    TAILQ_INIT(&log->cnts32);
    TAILQ_INIT(&log->cnts64);
    log->le = entries.release();
    log->lesize = lesize;
    log->leloop = leloop;
    log->mallocd = 1;
    return log.release();
}

void hg_dlog_free(struct hg_dlog* d) {
    while (hg_dlog_dcount32* const counter = TAILQ_FIRST(&d->cnts32)) {
        TAILQ_REMOVE(&d->cnts32, counter, l);
        delete counter;
    }
    while (hg_dlog_dcount64* const counter = TAILQ_FIRST(&d->cnts64)) {
        TAILQ_REMOVE(&d->cnts64, counter, l);
        delete counter;
    }
    if (d->mallocd == 0) return;
    (void)hg_thread_mutex_destroy(&d->dlock);
    delete[] d->le;
    delete d;
}

void hg_dlog_mkcount32(struct hg_dlog* d, hg_atomic_int32_t** cptr, const char* name, const char* descr) {
    const Lock lock(*d, false);
    if (*cptr != nullptr) return;
    auto* const counter = new (std::nothrow) hg_dlog_dcount32{name, descr, 0, {}};
    if (counter == nullptr) return;
    TAILQ_INSERT_TAIL(&d->cnts32, counter, l);
    *cptr = &counter->c;
}

void hg_dlog_rmcount32(struct hg_dlog* d, hg_atomic_int32_t* cptr) {
    const Lock lock(*d, false);
    auto* const counter = counter_of<hg_dlog_dcount32>(cptr);
    TAILQ_REMOVE(&d->cnts32, counter, l);
    delete counter;
}

void hg_dlog_mkcount64(struct hg_dlog* d, hg_atomic_int64_t** cptr, const char* name, const char* descr) {
    const Lock lock(*d, false);
    if (*cptr != nullptr) return;
    auto* const counter = new (std::nothrow) hg_dlog_dcount64{name, descr, 0, {}};
    if (counter == nullptr) return;
    TAILQ_INSERT_TAIL(&d->cnts64, counter, l);
    *cptr = &counter->c;
}

void hg_dlog_rmcount64(struct hg_dlog* d, hg_atomic_int64_t* cptr) {
    const Lock lock(*d, false);
    auto* const counter = counter_of<hg_dlog_dcount64>(cptr);
    TAILQ_REMOVE(&d->cnts64, counter, l);
    delete counter;
}

unsigned int hg_dlog_addlog(struct hg_dlog* d, const char* file, unsigned int line, const char* func, const char* msg,
                            const void* data) {
    const Lock lock(*d, false);
    if (d->lestop != 0 || d->lesize == 0 || (d->leadds == d->lesize && d->leloop == 0)) return 0;
    hg_dlog_entry& entry = d->le[d->lefree];
    entry = {file, line, func, msg, data, {}};
    (void)hg_time_get_current(&entry.time);
    d->lefree = (d->lefree + 1) % d->lesize;
    d->leadds = std::min(d->leadds + 1, d->lesize);
    return 1;
}

void hg_dlog_setlogstop(struct hg_dlog* d, int stop) {
    const Lock lock(*d, false);
    d->lestop = stop;
}

void hg_dlog_resetlog(struct hg_dlog* d) {
    const Lock lock(*d, false);
    d->lefree = 0;
    d->leadds = 0;
}

void hg_dlog_dump_counters(struct hg_dlog* d, int (*log_func)(FILE*, const char*, ...), FILE* stream, int trylock) {
    if (const Lock lock(*d, trylock != 0); lock) write_counters(*d, log_func, stream);
}

void hg_dlog_dump(struct hg_dlog* d, int (*log_func)(FILE*, const char*, ...), FILE* stream, int trylock) {
    if (const Lock lock(*d, trylock != 0); lock) {
        write_counters(*d, log_func, stream);
        write_entries(*d, log_func, stream);
    }
}

void hg_dlog_dump_file(struct hg_dlog* d, const char* base, int addpid, int trylock) try {
    const std::string path = std::string(base) + (addpid != 0 ? "-" + std::to_string(getpid()) : "") + ".log";
    FILE* const file = std::fopen(path.c_str(), "we");
    if (file == nullptr) {
        (void)std::fprintf(stderr, "the log '%s' cannot be written to %s: %m\n", Lock::name(*d), path.c_str());
        return;
    }
    hg_dlog_dump(d, std::fprintf, file, trylock);
    (void)std::fclose(file);
} catch (const std::bad_alloc&) {
    (void)std::fprintf(stderr, "no memory to write the log '%s'\n", Lock::name(*d));
}
