// SPDX-License-Identifier: BSD-3-Clause
// Names that differ by case only, in usual folders and in one that ignores case.
#include "file/folded_case.hpp"
#include "support/content.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/root.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

Result<void> put_upper_or_lower(const Root& root, const std::string& name, const std::string& content,
                                Existing existing) {
    auto file = root.create(name, content.size(), 0600, existing);
    if (!file) return std::move(file).error();
    CINNABAR_TRY_VOID(file->write(0, std::as_bytes(std::span(content))));
    return file->commit();
}

TEST(FoldedCase, AnEntryIsFoundByItsExactName) {
    const support::Folder folder;
    (void)folder.put("Name", "");
    const UniqueFd fd(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(fd);
    EXPECT_TRUE(has_exactly(fd.get(), "Name", "Name").value());
    EXPECT_FALSE(has_exactly(fd.get(), "name", "name").value());
    EXPECT_TRUE(check_case(fd.get(), "Name", "Name").ok());
    EXPECT_TRUE(check_case(fd.get(), "name", "name").ok()) << "nothing has it";
}

TEST(FoldedCase, BothNamesAppearInAUsualFolder) {
    const support::Folder folder;
    const auto root = Root::open(folder.path().string()).value();
    for (const auto existing : {Existing::keep, Existing::replace}) {
        const std::string number = existing == Existing::keep ? "1" : "2";
        EXPECT_TRUE(put_upper_or_lower(root, "A" + number, "upper", existing).ok());
        EXPECT_TRUE(put_upper_or_lower(root, "a" + number, "lower", existing).ok());
        EXPECT_EQ(folder.get("A" + number), "upper");
        EXPECT_EQ(folder.get("a" + number), "lower");
    }
    EXPECT_TRUE(put_upper_or_lower(root, "A1", "newer", Existing::replace).ok());
    EXPECT_EQ(folder.get("A1"), "newer");
    EXPECT_EQ(folder.get("a1"), "lower");
}

TEST(FoldedCase, WhereCaseIsIgnoredTheSecondNameIsToldAndTheFirstIsKept) {
    const support::Folder folder;
    std::filesystem::create_directory(folder.at("folds"));
    const UniqueFd fd(::open(folder.at("folds").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(fd);
    int flags = 0;
    if (::ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) != 0) GTEST_SKIP() << "no flags here: " << std::strerror(errno);
    flags |= FS_CASEFOLD_FL;
    if (::ioctl(fd.get(), FS_IOC_SETFLAGS, &flags) != 0)
        GTEST_SKIP() << "no folder can ignore case here: " << std::strerror(errno);
    const auto root = Root::open(folder.at("folds")).value();
    ASSERT_TRUE(put_upper_or_lower(root, "A", "upper", Existing::keep).ok());
    ASSERT_TRUE(root.make_folder("D").ok());
    for (const auto existing : {Existing::keep, Existing::replace}) {
        const auto second = put_upper_or_lower(root, "a", "lower", existing);
        EXPECT_EQ(second.code(), Errc::exists);
        EXPECT_NE(second.error().message().find("differs by case only"), std::string::npos) << second.error().message();
    }
    EXPECT_EQ(root.make_folder("d").code(), Errc::exists);
    EXPECT_TRUE(root.make_folder("D").ok()) << "it is there";
    EXPECT_TRUE(put_upper_or_lower(root, "A", "newer", Existing::replace).ok());
    EXPECT_EQ(folder.get("folds/A"), "newer");
    EXPECT_EQ(support::Folder::list_of(folder.at("folds")), (std::vector<std::string>{"A", "D"}));
}

}  // namespace
}  // namespace cinnabar::files
