// SPDX-License-Identifier: BSD-3-Clause
// A folder with a root in it, to save below.
#pragma once

#include "support/content.hpp"

#include <cinnabar/files/root.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace cinnabar::files {

using Names = std::vector<std::string>;

// Creates, writes and commits a file; returns the first error.
inline Result<void> save(const Root& root, const std::string& name, const std::string& content,
                         Existing existing = Existing::keep) {
    CINNABAR_TRY(auto file, root.create(name, content.size(), 0644, existing));
    CINNABAR_TRY_VOID(file.write(0, as_bytes(content)));
    return file.commit();
}

struct RootTest : testing::Test {
    support::Folder folder;
    std::filesystem::path base = folder.path() / "root";
    RootTest() { std::filesystem::create_directory(base); }
    Root serve() { return Root::serve(base.string()).value(); }
    std::string content_of(const std::string& name) { return folder.get("root/" + name); }
};

}  // namespace cinnabar::files
