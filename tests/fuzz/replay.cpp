// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzz target without libFuzzer: on every file of the given corpus folder, and on CINNABAR_SEEDS random changes
// of each file (bits flipped, cut, doubled, spliced). A crash or a failed assertion is a failure.
#include <cinnabar/base/random.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

Input changed(const Input& input, const Input& other, cinnabar::Random& random) {
    Input made = input;
    for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
        const std::size_t at = random.below(made.size() + 1);
        switch (random.below(5)) {
            case 0:
                if (at < made.size()) made[at] ^= static_cast<std::uint8_t>(1u << random.below(8));
                break;
            case 1:
                if (at < made.size()) made[at] = random.chance(2) ? 0xff : static_cast<std::uint8_t>(random.next());
                break;
            case 2:
                made.resize(at);
                break;
            case 3: {
                const Input tail(made.begin() + static_cast<std::ptrdiff_t>(at), made.end());
                made.insert(made.end(), tail.begin(), tail.end());
                break;
            }
            default: {
                const auto from = static_cast<std::ptrdiff_t>(random.below(other.size() + 1));
                made.resize(at);
                made.insert(made.end(), other.begin() + from, other.end());
                break;
            }
        }
    }
    return made;
}

// An exact copy on the heap, so that the address sanitizer notices a read one byte past its end.
void try_one(const Input& input) {
    const auto exact = std::make_unique<std::uint8_t[]>(input.size());
    std::copy(input.begin(), input.end(), exact.get());
    LLVMFuzzerTestOneInput(exact.get(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::filesystem::path> files;
    for (int i = 1; i < argc; ++i) {
        for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<Input> inputs{Input{}};
    for (const auto& file : files) {
        std::ifstream stream(file, std::ios::binary);
        inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    }
    if (files.empty()) {
        std::fputs("the corpus is empty: there is nothing to replay\n", stderr);
        return 1;
    }
    const char* text = std::getenv("CINNABAR_SEEDS");
    const std::uint64_t seeds = text ? std::strtoull(text, nullptr, 10) : 300;
    std::uint64_t tried = 0;
    for (const Input& input : inputs) {
        try_one(input);
        cinnabar::Random random(tried++);
        for (std::uint64_t seed = 0; seed < seeds; ++seed, ++tried) {
            try_one(changed(input, inputs[random.below(inputs.size())], random));
        }
    }
    std::printf("%zu inputs and %llu changes of them\n", inputs.size(), static_cast<unsigned long long>(tried));
    return 0;
}
