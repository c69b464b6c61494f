// SPDX-License-Identifier: BSD-3-Clause
// Each rule, on a file that violates it and on one that does not.
#include "rules.hpp"

#include <gtest/gtest.h>

namespace cinnabar::tidy {
namespace {

std::vector<std::size_t> lines_of(const Findings& findings) {
    std::vector<std::size_t> lines;
    for (const Finding& finding : findings) lines.push_back(finding.line);
    return lines;
}
using Lines = std::vector<std::size_t>;

std::string repeated(int count, std::string_view line) {
    std::string text;
    for (int i = 0; i < count; ++i) text.append(line);
    return text;
}

TEST(Blanking, CommentsAndLiteralsAreSpaces) {
    const Source source("na/src/a.cpp",
                        "int a; // goto\n"
                        "/* goto\n goto */ int b;\n"
                        "auto c = \"goto \\\" goto\"; char d = '\"'; int e = 1'000;\n"
                        "auto f = R\"x(goto )\" goto)x\"; int g;\n"
                        "#include \"goto.hpp\"\n");
    ASSERT_EQ(source.code.size(), source.lines.size());
    for (std::size_t i = 0; i < source.code.size(); ++i) EXPECT_EQ(source.code[i].size(), source.lines[i].size());
    EXPECT_TRUE(
        check_banned_names(Source("x.cpp", source.code[0] + source.code[2] + source.code[3] + source.code[4])).empty());
    EXPECT_NE(source.code[2].find("int b;"), std::string::npos);
    EXPECT_NE(source.code[3].find("int e = 1'000;"), std::string::npos);
    EXPECT_NE(source.code[4].find("int g;"), std::string::npos);
    EXPECT_EQ(source.code[5], "#include \"goto.hpp\"") << "the name of a header is needed";
}

TEST(Sizes, Files) {
    EXPECT_TRUE(check_sizes(Source("na/src/a.cpp", repeated(800, "int a;\n"))).empty());
    EXPECT_EQ(lines_of(check_sizes(Source("na/src/a.cpp", repeated(801, "int a;\n")))), Lines{1});
    EXPECT_TRUE(check_sizes(Source("docs/a.md", repeated(801, "words\n"))).empty());
}

TEST(Sizes, LinesCountCharactersNotBytes) {
    EXPECT_TRUE(check_sizes(Source("a.cpp", std::string(120, 'x') + "\n")).empty());
    EXPECT_EQ(lines_of(check_sizes(Source("a.cpp", "\n" + std::string(121, 'x') + "\n"))), Lines{2});
    EXPECT_TRUE(check_sizes(Source("a.cpp", "//" + repeated(118, "\xc3\xa9") + "\n")).empty());
}

TEST(Sizes, FunctionsWhereverTheyStand) {
    const std::string longest = repeated(68, "    if (x) { y(); }\n");
    const std::string too_long = longest + "    y();\n";
    const auto findings = [](const std::string& text) { return lines_of(check_sizes(Source("a.cpp", text))); };
    EXPECT_EQ(findings("void f() {\n" + longest + "}\n"), Lines{});
    EXPECT_EQ(findings("void f() {\n" + too_long + "}\n"), Lines{1});
    EXPECT_EQ(findings("namespace a {\nnamespace {\nvoid f() const noexcept {\n" + too_long + "}\n}\n}\n"), Lines{3});
    EXPECT_EQ(findings("class A : public B {\n  public:\n    void f() {\n" + too_long + "}\n};\n"), Lines{3});
    EXPECT_EQ(findings("template <class T>\nstruct A {\n    A() : a_{1}, b_(2) {\n" + too_long + "}\n};\n"), Lines{3});
    EXPECT_EQ(findings("TEST(A, b) {\n" + too_long + "}\n"), Lines{1});
    EXPECT_EQ(findings("struct tm now() {\n" + too_long + "}\n"), Lines{1});
    EXPECT_EQ(findings("const auto f = [](struct A* a) {\n" + too_long + "};\n"), Lines{1});
    EXPECT_EQ(findings("extern \"C\" {\nint g();\nvoid f() {\n" + too_long + "}\n}\n"), Lines{3});
    EXPECT_EQ(findings("extern \"C\" void f() {\n" + too_long + "}\n"), Lines{1});
}

TEST(Sizes, WhatIsNoFunctionMayBeLong) {
    const auto findings = [](const std::string& text) { return lines_of(check_sizes(Source("a.cpp", text))); };
    EXPECT_EQ(findings("class A {\n" + repeated(80, "    int f() { return 1; }\n") + "};\n"), Lines{});
    EXPECT_EQ(findings("constexpr Row rows[] = {\n" + repeated(80, "    {1, 2},\n") + "};\n"), Lines{});
    EXPECT_EQ(findings("enum class A {\n" + repeated(80, "    a,\n") + "};\n"), Lines{});
    EXPECT_EQ(findings("#define A(x) \\\n    { \\\n    x\nvoid f() {\n}\n" + repeated(80, "int a;\n")), Lines{});
}

TEST(Sizes, ClassesByTheirFunctions) {
    const std::string functions = repeated(39, "    [[nodiscard]] int f(int a = {}) const noexcept { return g(a); }\n");
    const std::string rest =
        "    A() : a_{1}, b_(2) {}\n    std::function<void(int)> call_;\n    int a_ = make(1);\n    int b_{3};\n"
        "    static_assert(sizeof(int) == 4);\n    A(const A&) = delete;\n    friend void h(A& a);\n    enum class E { "
        "x, y };\n";
    const auto findings = [](const std::string& text) { return lines_of(check_classes(Source("na/src/a.hpp", text))); };
    EXPECT_EQ(findings("\nclass A final : public B {\n" + functions + rest + "};\n"), Lines{});
    EXPECT_EQ(findings("\nclass A final : public B {\n" + functions + rest + "    A& operator=(const A&);\n};\n"),
              Lines{2});
    EXPECT_EQ(findings("struct A {\n  struct B {\n" + functions + "    void f();\n    ~B();\n  };\n};\n"), Lines{2});
    EXPECT_TRUE(check_classes(Source("tests/a.cpp", "class A {\n" + functions + functions + "};\n")).empty());
}

TEST(Arrows, IncludesGoOneWayOnly) {
    const auto allowed = [](std::string path, std::string_view header) {
        return check_arrows(Source(std::move(path), "#include <cinnabar/" + std::string(header) + ">\n")).empty();
    };
    EXPECT_TRUE(allowed("base/src/a.cpp", "base/error.hpp"));
    EXPECT_FALSE(allowed("base/src/a.cpp", "na/op.hpp"));
    EXPECT_TRUE(allowed("na/src/a.cpp", "base/error.hpp"));
    EXPECT_FALSE(allowed("na/src/a.cpp", "bulk/region.hpp"));
    EXPECT_FALSE(allowed("na/src/a.cpp", "plugins/tcp.hpp"));
    EXPECT_TRUE(allowed("plugins/tcp/src/a.cpp", "na/op.hpp"));
    EXPECT_TRUE(allowed("plugins/tcp/src/a.cpp", "plugins/tcp.hpp"));
    EXPECT_FALSE(allowed("plugins/tcp/src/a.cpp", "plugins/sim.hpp"));
    EXPECT_TRUE(allowed("plugins/tcp/src/a.cpp", "tls/guards_of.hpp"));
    EXPECT_FALSE(allowed("tls/src/a.cpp", "plugins/tcp.hpp"));
    EXPECT_FALSE(allowed("na/src/a.cpp", "tls/guards_of.hpp"));
    EXPECT_FALSE(allowed("plugins/tcp/src/a.cpp", "rpc/engine.hpp"));
    EXPECT_TRUE(allowed("plugins/builtin/src/builtin.cpp", "plugins/tcp.hpp"));
    EXPECT_FALSE(allowed("plugins/builtin/src/builtin.cpp", "rpc/engine.hpp"));
    EXPECT_TRUE(allowed("bulk/include/cinnabar/bulk/a.hpp", "na/memory.hpp"));
    EXPECT_FALSE(allowed("bulk/include/cinnabar/bulk/a.hpp", "rpc/engine.hpp"));
    EXPECT_TRUE(allowed("rpc/src/a.cpp", "bulk/region.hpp"));
    EXPECT_FALSE(allowed("rpc/src/a.cpp", "hl/node.hpp"));
    EXPECT_FALSE(allowed("rpc/src/a.cpp", "plugins/builtin.hpp"));
    EXPECT_TRUE(allowed("hl/src/a.cpp", "plugins/builtin.hpp"));
    EXPECT_FALSE(allowed("hl/src/a.cpp", "plugins/tcp.hpp"));
    EXPECT_FALSE(allowed("mercury/src/a.cpp", "hl/node.hpp"));
    EXPECT_FALSE(allowed("tools/save.cpp", "plugins/tcp.hpp"));
    EXPECT_TRUE(allowed("tools/save.cpp", "hl/node.hpp"));
    EXPECT_TRUE(allowed("tools/save.cpp", "files/client.hpp"));
    EXPECT_TRUE(allowed("files/src/service.cpp", "hl/node.hpp"));
    EXPECT_FALSE(allowed("files/src/service.cpp", "cinnabar.hpp"));
    EXPECT_FALSE(allowed("hl/src/node.cpp", "files/client.hpp"));
    EXPECT_TRUE(allowed("nixl/src/engine.cpp", "hl/node.hpp"));
    EXPECT_FALSE(allowed("nixl/src/engine.cpp", "plugins/tcp.hpp"));
    EXPECT_FALSE(allowed("nixl/src/engine.cpp", "group/group.hpp"));
    EXPECT_FALSE(allowed("examples/hello.cpp", "plugins/tcp.hpp"));
    EXPECT_TRUE(allowed("examples/hello.cpp", "plugins/sim.hpp"));
    EXPECT_TRUE(allowed("tests/transport/a_test.cpp", "plugins/sim.hpp"));
}

TEST(Arrows, NoIncludeClimbsOut) {
    EXPECT_FALSE(check_arrows(Source("rpc/src/a.cpp", "#include \"../../hl/src/node_state.hpp\"\n")).empty());
    EXPECT_TRUE(check_arrows(Source("rpc/src/a.cpp", "#include \"call_table.hpp\"\n")).empty());
    EXPECT_TRUE(check_arrows(Source("rpc/src/a.cpp", "// #include <cinnabar/hl/node.hpp>\n")).empty());
}

TEST(Arrows, LinkedTargetsTakeTheSameWay) {
    EXPECT_TRUE(check_arrows(Source("rpc/CMakeLists.txt", "cinnabar_module(rpc DEPENDS cinnabar::bulk)\n")).empty());
    EXPECT_FALSE(
        check_arrows(Source("bulk/CMakeLists.txt", "cinnabar_module(bulk\n DEPENDS cinnabar::rpc)\n")).empty());
    EXPECT_FALSE(
        check_arrows(Source("rpc/CMakeLists.txt", "x(DEPENDS cinnabar::bulk cinnabar::plugin_tcp)\n")).empty());
    EXPECT_TRUE(check_arrows(Source("rpc/CMakeLists.txt", "if(TARGET cinnabar::plugin_tcp)\n")).empty());
    EXPECT_TRUE(check_arrows(Source("plugins/builtin/CMakeLists.txt", "x(cinnabar::plugin_tcp)\n")).empty());
    EXPECT_TRUE(check_arrows(Source("tests/unit/rpc/CMakeLists.txt", "x(LIBS cinnabar::plugin_tcp)\n")).empty());
}

TEST(Parts, NoOtherFileSeesAWholeContext) {
    constexpr std::string_view include = "#include \"context_core.hpp\"\n";
    EXPECT_FALSE(check_parts(Source("rpc/src/peers.cpp", include)).empty());
    EXPECT_FALSE(check_parts(Source("rpc/src/peers.hpp", include)).empty());
    EXPECT_TRUE(check_parts(Source("rpc/src/target.cpp", include)).empty()) << "each call goes through it";
    EXPECT_TRUE(check_parts(Source("rpc/src/peers.cpp", "#include \"context_base.hpp\"\n")).empty());
    EXPECT_TRUE(check_parts(Source("rpc/src/peers.cpp", "// #include \"context_core.hpp\"\n")).empty());
}

TEST(ThirdParty, StaysOutOfTheCoreAndOutOfPublicHeaders) {
    const auto clean = [](std::string path, std::string_view text) {
        return check_third_party(Source(std::move(path), text)).empty();
    };
    EXPECT_FALSE(clean("rpc/src/a.cpp", "#include <fmt/format.h>\n"));
    EXPECT_FALSE(clean("plugins/verbs/include/cinnabar/verbs/a.hpp", "struct ibv_qp;\n"));
    EXPECT_FALSE(clean("plugins/verbs/include/cinnabar/verbs/a.hpp", "#include <infiniband/verbs.h>\n"));
    EXPECT_TRUE(clean("plugins/verbs/src/a.cpp", "#include <infiniband/verbs.h>\nibv_qp* qp;\n"));
    EXPECT_FALSE(clean("hl/include/cinnabar/hl/node.hpp", "#include <cereal/cereal.hpp>\n"));
    EXPECT_FALSE(clean("hl/include/cinnabar/hl/node.hpp", "BOOST_PP_CAT(a, b)\n"));
    EXPECT_TRUE(clean("hl/include/cinnabar/hl/cereal.hpp", "#include <cereal/cereal.hpp>\n"));
    EXPECT_TRUE(clean("hl/include/cinnabar/hl/macros.hpp", "#include <boost/preprocessor.hpp>\n"));
    EXPECT_TRUE(clean("na/include/cinnabar/na/a.hpp", "// ibv_post_send does this\nint verify_all;\n"));
    EXPECT_TRUE(clean("tools/main.cpp", "#include <CLI/CLI.hpp>\n"));
}

TEST(BannedNames, AreFoundAsWholeNames) {
    const auto clean = [](std::string path, std::string_view text) {
        return check_banned_names(Source(std::move(path), text)).empty();
    };
    EXPECT_FALSE(clean("tests/a.cpp", "goto end;\n"));
    EXPECT_FALSE(clean("tests/a.cpp", "std::this_thread::sleep_for(1ms);\n"));
    EXPECT_TRUE(clean("hl/src/a.cpp", "co_await node.sleep_for(1ms);\n"));
    EXPECT_FALSE(clean("tools/a.cpp", "::usleep(5);\n"));
    EXPECT_FALSE(clean("base/src/a.cpp", "void* p = malloc (5);\n"));
    EXPECT_FALSE(clean("hl/src/a.cpp", "std::cout << 1;\n"));
    EXPECT_FALSE(clean("hl/src/a.cpp", "std::printf(\"x\");\n"));
    EXPECT_FALSE(clean("nixl/src/a.cpp", "std::cerr << 1;\n")) << "it is loaded by programs of others";
    EXPECT_TRUE(clean("tools/a.cpp", "std::cout << 1; std::printf(\"x\");\n"));
    EXPECT_TRUE(
        clean("base/src/a.cpp", "std::snprintf(b, 5, \"malloc(5)\"); __attribute__((format(printf, 2, 3)));\n"));
    EXPECT_TRUE(clean("base/src/a.cpp", "sleep_until_woken(1); bool sleep = true; // goto\n"));
    EXPECT_TRUE(clean("na/src/sleep.cpp", "did += sleep(until);\n")) << "an exception by name";
    EXPECT_FALSE(clean("na/src/sleep.cpp", "usleep(5);\n"));
}

TEST(Libfabric, NamesThatItsVersion2HasNoLongerAreFound) {
    const auto clean = [](std::string path, std::string_view text) {
        return check_libfabric(Source(std::move(path), text)).empty();
    };
    EXPECT_FALSE(clean("plugins/ofi/src/a.cpp", "char path[FI_PATH_MAX];\n"));
    EXPECT_FALSE(clean("plugins/ofi/src/a.hpp", "hints->mode = FI_CONTEXT | FI_LOCAL_MR;\n"));
    EXPECT_FALSE(clean("plugins/ofi/src/a.cpp", "attributes.wait_set = nullptr;\n"));
    EXPECT_FALSE(clean("tests/bench/limits/a.cpp", "return ::fi_av_bind(av, eq, 0);\n"));
    EXPECT_TRUE(clean("plugins/ofi/src/a.cpp", "fi_av_open(d, &a, &av, nullptr); ::poll(f, 1, 0); // FI_PATH_MAX\n"));
    EXPECT_TRUE(clean("na/src/a.cpp", "int wait_set;\n")) << "not libfabric's";
}

TEST(Leftovers, AreFoundInComments) {
    const auto clean = [](std::string_view text) { return check_leftovers(Source("rpc/src/a.cpp", text)).empty(); };
    EXPECT_FALSE(
        clean("// TO"
              "DO: later\n"));
    EXPECT_FALSE(
        clean("// TO"
              "DO(somebody): later\n"));
    EXPECT_TRUE(
        clean("// TO"
              "DO(perf): one syscall less\n"));
    EXPECT_FALSE(
        clean("// FIX"
              "ME\n"));
    EXPECT_FALSE(
        clean("// XX"
              "X: later\n"));
    EXPECT_TRUE(clean("std::string name = \"/tmp/a.XXXXXX\";\n"));
    EXPECT_FALSE(clean("#if 0\n#endif\n"));
    EXPECT_FALSE(
        clean("TEST(A, DISABLED"
              "_b) {}\n"));
    EXPECT_TRUE(clean("#ifdef NDEBUG\n#endif\n"));
}

TEST(Merges, ThatWereNotFinishedAreFoundInEveryKindOfFile) {
    const std::string text = "one\n<<<<<<< HEAD\ntwo\n=======\nthree\n>>>>>>> other\n";
    EXPECT_EQ(lines_of(check_merges(Source("docs/a.md", text))), (Lines{2, 6}));
    EXPECT_TRUE(check_merges(Source("a.cpp", "std::cout << a; // <<<<<<<\n")).empty());
}

TEST(Words, RetiredOnesAreFoundInEachSpellingOfAName) {
    const auto clean = [](std::string path, std::string_view text) {
        return check_words(Source(std::move(path), text)).empty();
    };
    for (const std::string_view text : {"PutOff<P> a;\n", "int put_off_;\n", "int put_off;\n", "f(is_put_off(a));\n"})
        EXPECT_FALSE(clean("base/src/a.cpp", text)) << text;
    EXPECT_FALSE(clean("base/src/put_off.cpp", "int a;\n")) << "the name of a file";
    EXPECT_FALSE(clean("docs/a.md", "as `put_off` does\n"));
    EXPECT_TRUE(clean("base/src/a.cpp", "int output, offset; // what was put off\n"));
    EXPECT_FALSE(clean("base/src/a.cpp", "int card;\n"));
    EXPECT_TRUE(clean("base/src/a.cpp", "int discard; // a network card\n")) << "in prose that is English";
    for (const std::string_view text :
         {"int replies_owed;\n", "f(owed());\n", "Addr who;\n", "Addr who_;\n", "f(a.who);\n"})
        EXPECT_FALSE(clean("base/src/a.cpp", text)) << text;
    EXPECT_TRUE(clean("base/src/a.cpp", "f(followed, allowed, whole, whoami); // who is owed what\n"));
    EXPECT_TRUE(clean("base/src/a.cpp", "TEST(Calls, WhoStays) { who_leaves(); }\n")) << "a sentence";
    EXPECT_FALSE(clean("base/src/a.cpp", "int places = 2;\n"));
    EXPECT_TRUE(clean("hl/src/admission.cpp", "int places = 2;\n")) << "there it has its meaning";
    EXPECT_FALSE(clean("base/src/a.cpp", "// a newcomer\n"));
    EXPECT_FALSE(clean("docs/a.md", "a newcomer\n"));
    EXPECT_TRUE(clean("docs/decisions/0001-a.md", "a newcomer\n")) << "decisions are not edited";
}

TEST(Words, ARoomThatAWordHasLeftIsNamed) {
    const auto tree = load_tree(CINNABAR_SOURCE_DIR);
    EXPECT_GE(check_rooms_of_words({}).size(), check_rooms_of_words(tree).size());
    for (const Finding& finding : check_rooms_of_words({})) EXPECT_EQ(finding.path, "tests/tidy/words.cpp");
}

TEST(MachinePaths, AreFoundInEveryKindOfFile) {
    const auto clean = [](std::string_view text) { return check_machine_paths(Source("docs/a.md", text)).empty(); };
    EXPECT_FALSE(
        clean("see /wo"
              "rk/x/y\n"));
    EXPECT_FALSE(
        clean("(/ho"
              "me/me/cinnabar)\n"));
    EXPECT_FALSE(
        clean("path=/ro"
              "ot/.cache\n"));
    EXPECT_TRUE(clean("#include \"net/home/x.hpp\" and my/home is fine, as is /tmp/x\n"));
    EXPECT_TRUE(clean("https://example.org/home/x\n"));
}

TEST(FirstLines, LicenceAndGuard) {
    const auto clean = [](std::string path, std::string_view text) {
        return check_first_lines(Source(std::move(path), text)).empty();
    };
    EXPECT_TRUE(clean("a.cpp", "// SPDX-License-Identifier: BSD-3-Clause\nint a;\n"));
    EXPECT_FALSE(clean("a.cpp", "int a;\n"));
    EXPECT_FALSE(clean("a.cpp", ""));
    EXPECT_FALSE(clean("a.hpp", "// SPDX-License-Identifier: BSD-3-Clause\nint a;\n"));
    EXPECT_TRUE(clean("a.hpp", "// SPDX-License-Identifier: BSD-3-Clause\n#pragma once\n"));
    EXPECT_TRUE(clean("examples/01_hello.cpp", "int a;\n"));
    EXPECT_TRUE(clean("a.h", "/* SPDX-License-Identifier: BSD-3-Clause */\n#ifndef A_H\n"));
    EXPECT_FALSE(clean("a.hpp", "// SPDX-License-Identifier: BSD-3-Clause\n#ifndef A_H\n"));
}

TEST(Listed, EverySourceFileHasATarget) {
    const auto findings = [](std::string_view list, std::string path) {
        return check_listed({Source("na/CMakeLists.txt", list), Source(std::move(path), "int a;\n")});
    };
    EXPECT_TRUE(findings("cinnabar_module(na\n SOURCES src/a.cpp src/b.cpp)\n", "na/src/a.cpp").empty());
    EXPECT_TRUE(findings("add_x(na src/b.cpp)", "na/src/b.cpp").empty());
    EXPECT_FALSE(findings("cinnabar_module(na SOURCES src/aa.cpp)\n", "na/src/a.cpp").empty());
    EXPECT_TRUE(findings("x(../bulk/src/a.cpp)", "bulk/src/a.cpp").empty());
    EXPECT_FALSE(findings("# src/a.cpp\n", "na/src/a.cpp").empty());
    EXPECT_FALSE(findings("x(src/a.cpp)\n", "bulk/src/a.cpp").empty());
    EXPECT_TRUE(findings("cinnabar_fuzz(a LIBS x)\n", "na/a_fuzz.cpp").empty());
    EXPECT_TRUE(findings("foreach(case a b)\n", "na/b.cpp").empty());
    EXPECT_TRUE(findings("x()\n", "na/include/a.hpp").empty()) << "headers are not listed";
}

TEST(Limits, EachRowNamesATestThatIsThere) {
    const auto findings = [](std::string_view rows) {
        const std::string head = "| what | shown by |\n|---|---|\n";
        return lines_of(check_limits({Source("tests/unit/a_test.cpp", "TEST_P(Suite, ATest) {\n"),
                                      Source("docs/limits.md", head + std::string(rows))}));
    };
    EXPECT_EQ(findings("| a | `Suite.ATest`, `ATest`, `Suite.*`, `Suite.A*`; `a_test` |\n"), Lines{});
    EXPECT_EQ(findings("| a | none: nothing can fail |\nwords `Suite.Gone`\n"), Lines{});
    EXPECT_EQ(findings("| a | `Suite.Gone` |\n| b | `Gone.*` |\n"), (Lines{3, 4}));
    EXPECT_EQ(findings("| a | |\n"), Lines{3});
    EXPECT_EQ(findings("| a | `ATest` |\n| a | `Suite.*` |\n"), Lines{4});
}

}  // namespace
}  // namespace cinnabar::tidy
