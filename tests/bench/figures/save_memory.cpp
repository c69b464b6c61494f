// SPDX-License-Identifier: BSD-3-Clause
// save.memory: the most resident memory of client and server while a sparse file is saved that is larger than the
// machine's memory, and while a folder of very many small files is. Over tcp, from tmpfs to tmpfs.
#include "../harness/process_status.hpp"
#include "../harness/room.hpp"
#include "../harness/scratch.hpp"
#include "../ours/save_server.hpp"
#include "figures.hpp"

#include <poll.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace cinnabar::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
constexpr double most_mebibytes = 128;

// The command's, looked at each millisecond.
std::uint64_t peak_of(const std::vector<std::string>& words) {
    StartedCommand command{words};
    std::uint64_t peak = 0;
    while (command.runs()) {
        peak = std::max(peak, resident_bytes_max_of(command.pid()));
        (void)poll(nullptr, 0, 1);
    }
    command.wait();
    return peak;
}

// A hole, with 1 MiB of data in each 256 MiB.
void make_sparse_file(const fs::path& path, std::uint64_t bytes) {
    constexpr std::uint64_t apart = 256 * mebibyte;
    std::ofstream file{path, std::ios::binary};
    std::string data(mebibyte, '\0');
    for (std::uint64_t at = 0; at < bytes; at += apart) {
        for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>('a' + (i + at / apart) % 26);
        file.seekp(static_cast<std::streamoff>(at + apart / 2));
        file.write(data.data(), static_cast<std::streamsize>(data.size()));
    }
    if (!file.flush()) throw std::runtime_error{"cannot write " + path.string()};
    fs::resize_file(path, bytes);
}

// Two rows, for a server that does nothing else.
void measure_save(const Settings& settings, const std::string& name, const fs::path& source, const std::string& what,
                  std::vector<Row>& rows) {
    const auto root = source.parent_path() / ("root-" + source.filename().string());
    fs::create_directory(root);
    const SaveServer server{settings.cores, settings.tool, root};
    const auto client = peak_of(server.save(source, {"--quiet"}));
    const auto peak_of_server = resident_bytes_max_of(server.pid());
    if (client == 0 || peak_of_server == 0) throw std::runtime_error{"the kernel does not tell the peak of a process"};
    const auto add = [&](const char* side, std::uint64_t bytes) {
        const auto mebibytes = static_cast<double>(bytes) / static_cast<double>(mebibyte);
        rows.push_back(count_row(name + side, mebibytes, "MiB", most_mebibytes));
        rows.back().remark = what;
    };
    add(".client", client);
    add(".server", peak_of_server);
}

std::vector<Row> run_save_memory(const Settings& settings) {
    if (settings.tool.empty()) throw std::runtime_error{"the cinnabar command was not built; see --tool"};
    // The server does not take what would not fit if it had no holes.
    const auto wanted = settings.quick ? 2 * gibibyte : 16 * gibibyte;
    const auto sparse_bytes = size_that_fits(wanted, gibibyte, 1, fs::space("/dev/shm").available / 10 * 9);
    const std::uint64_t files = settings.quick ? 5000 : 100'000;
    constexpr std::uint64_t file_bytes = 100;
    constexpr std::uint64_t each_bytes = 6 * 1024;  // of memory: a page, and what tmpfs keeps for a name
    const Scratch scratch{2 * (sparse_bytes / 256 + files * each_bytes)};
    std::vector<Row> rows;
    {
        const auto source = scratch.path() / "sparse";
        make_sparse_file(source, sparse_bytes);
        measure_save(settings, "save.memory.sparse", source, size_remark(sparse_bytes, wanted), rows);
    }
    {
        const auto source = scratch.path() / "files";
        make_folder(source, files, file_bytes);
        measure_save(settings, "save.memory.files", source, std::to_string(files) + " files", rows);
    }
    return rows;
}

}  // namespace

std::vector<Figure> save_memory_figures() { return {{"save.memory", run_save_memory}}; }

}  // namespace cinnabar::bench
