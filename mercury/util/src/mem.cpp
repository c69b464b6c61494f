// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <mercury_mem.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

namespace {

// Reads /proc/meminfo, which has the size in kB.
long read_hugepage_size() {
    std::FILE* const file = std::fopen("/proc/meminfo", "re");
    if (file == nullptr) return 0;
    char line[128];
    long size_kb = 0;
    while (size_kb == 0 && std::fgets(line, sizeof(line), file) != nullptr) {
        if (std::sscanf(line, "Hugepagesize: %ld kB", &size_kb) != 1) size_kb = 0;
    }
    std::fclose(file);
    return size_kb * 1024;
}

// The size of the header, rounded up so that the memory after it is aligned.
std::size_t header_room(std::size_t header_size, std::size_t alignment) {
    return alignment == 0 ? header_size : (header_size + alignment - 1) / alignment * alignment;
}

void* map_shared(int fd, std::size_t size, bool create) {
    struct stat status;
    if (create && ftruncate(fd, static_cast<off_t>(size)) != 0) return nullptr;
    // Access beyond the end of the object would raise SIGBUS.
    if (fstat(fd, &status) != 0 || static_cast<std::size_t>(status.st_size) < size) return nullptr;
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

long hg_mem_get_page_size(void) {
    static const long size = sysconf(_SC_PAGE_SIZE);
    return size;
}

long hg_mem_get_hugepage_size(void) {
    static const long size = read_hugepage_size();
    return size;
}

void* hg_mem_aligned_alloc(size_t alignment, size_t size) {
    if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return nullptr;
    void* memory = nullptr;
    return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

void hg_mem_aligned_free(void* mem_ptr) { std::free(mem_ptr); }

void* hg_mem_huge_alloc(size_t size) {
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

int hg_mem_huge_free(void* mem_ptr, size_t size) { return munmap(mem_ptr, size) == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL; }

void* hg_mem_header_alloc(size_t header_size, size_t alignment, size_t size) {
    const std::size_t room = header_room(header_size, alignment);
    void* const memory = hg_mem_aligned_alloc(std::max(alignment, sizeof(void*)), room + size);
    return memory == nullptr ? nullptr : static_cast<char*>(memory) + room;
}

void hg_mem_header_free(size_t header_size, size_t alignment, void* mem_ptr) {
    if (mem_ptr != nullptr) hg_mem_aligned_free(static_cast<char*>(mem_ptr) - header_room(header_size, alignment));
}

void* hg_mem_shm_map(const char* name, size_t size, bool create) {
    const int fd = shm_open(name, O_RDWR | (create ? O_CREAT : 0), S_IRUSR | S_IWUSR);
    if (fd < 0) return nullptr;
    void* const memory = map_shared(fd, size, create);
    close(fd);
    return memory;
}

int hg_mem_shm_unmap(const char* name, void* mem_ptr, size_t size) {
    const bool unmapped = mem_ptr == nullptr || munmap(mem_ptr, size) == 0;
    const bool unlinked = name == nullptr || shm_unlink(name) == 0;
    return unmapped && unlinked ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}
