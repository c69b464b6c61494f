// SPDX-License-Identifier: BSD-3-Clause
// How the stderr sink formats a line.
#include "log_print.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace cinnabar::detail {
namespace {

std::array<char, 1099> room;

std::string text_of(const LogLine& line) { return std::string(print_text(line, room)); }
std::string json_of(const LogLine& line) { return std::string(print_json(line, 1'764'000'000'000'042, 7, 8, room)); }

TEST(LogPrint, ALineForPeopleNamesLevelAndModule) {
    EXPECT_EQ(text_of({LogLevel::info, "tcp", "a peer left", 0}), "cinnabar: info: tcp: a peer left\n");
}

TEST(LogPrint, WhatAPeerSentForgesNoLineAndCommandsNoTerminal) {
    EXPECT_EQ(text_of({LogLevel::error, "hl", "a\ncinnabar: \x1b[2J\x7f", 0}),
              "cinnabar: error: hl: a\\x0acinnabar: \\x1b[2J\\x7f\n");
}

TEST(LogPrint, ControlsOfEightBitsCommandNoTerminalEither) {
    const LogLine line{LogLevel::error, "hl",
                       "\xc2\x9b"
                       "2J \x9b \xc3\xa9",
                       0};
    EXPECT_EQ(text_of(line), "cinnabar: error: hl: \\xc2\\x9b2J \\x9b \xc3\xa9\n");
    EXPECT_NE(json_of(line).find("\"text\": \"\\u009b2J \\ufffd \xc3\xa9\"}\n"), std::string::npos) << json_of(line);
}

TEST(LogPrint, JsonHasAllOfIt) {
    EXPECT_EQ(json_of({LogLevel::warning, "rpc", "7 of \"8\"", 0}),
              "{\"time\": \"2025-11-24T16:00:00.000042Z\", \"level\": \"warning\", \"process\": 7, \"thread\": 8, "
              "\"module\": \"rpc\", \"text\": \"7 of \\\"8\\\"\"}\n");
    EXPECT_NE(json_of({LogLevel::warning, "rpc", "x", 3}).find("\"left_out\": 3, \"text\""), std::string::npos);
}

const std::array<LogField, 3> fields{peer_field("tcp://10.0.0.5:41234"), bytes_field(1'234),
                                     error_field(Errc::protocol)};

TEST(LogPrint, JsonHasFieldsAsMembersAndTextHasNone) {
    const LogLine line{LogLevel::warning, "rpc", "x", 3, fields};
    EXPECT_NE(json_of(line).find("\"left_out\": 3, \"peer\": \"tcp://10.0.0.5:41234\", \"bytes\": 1234, "
                                 "\"error\": \"protocol\", \"text\": \"x\"}\n"),
              std::string::npos)
        << json_of(line);
    EXPECT_EQ(text_of(line), "cinnabar: warning: rpc: x\n");
}

TEST(LogPrint, FieldsOfAPeerForgeNoMember) {
    const std::array<LogField, 1> forged{peer_field("a\", \"level\": \"debug\n\x1b\xff")};
    const LogLine line{LogLevel::warning, "rpc", "x", 0, forged};
    EXPECT_NE(json_of(line).find("\"peer\": \"a\\\", \\\"level\\\": \\\"debug\\u000a\\u001b\\ufffd\", \"text\""),
              std::string::npos)
        << json_of(line);
    EXPECT_EQ(print_fields(line, room), " peer=\"a\\\", \\\"level\\\": \\\"debug\\u000a\\u001b\\ufffd\"");
}

TEST(LogPrint, FieldsArePairsForSinksOfText) {
    const LogLine line{LogLevel::warning, "rpc", "x", 0, fields};
    EXPECT_EQ(print_fields(line, room), " peer=tcp://10.0.0.5:41234 bytes=1234 error=protocol");
    const std::array<LogField, 4> quoted{rpc_field(""), rpc_field("a b"), rpc_field("a=b"), rpc_field("\xc3\xa9")};
    EXPECT_EQ(print_fields({LogLevel::warning, "rpc", "x", 0, quoted}, room),
              " rpc=\"\" rpc=\"a b\" rpc=\"a=b\" rpc=\"\xc3\xa9\"");
    EXPECT_EQ(print_fields({LogLevel::warning, "rpc", "x", 0, {}}, room), "");
    std::array<char, 24> small{};
    EXPECT_EQ(print_fields(line, small), " bytes=1234") << "those that fit, whole";
}

// Whatever the fields are, the line is an object, and ends with its text.
TEST(LogPrint, FieldsThatAreTooLongAreCutOrLeftOut) {
    const std::string letters(2'000, 'x');
    const std::string controls(2'000, '\1');
    for (const std::string& text : {letters, controls}) {
        std::array<LogField, 8> many;
        many.fill(peer_field(text));
        many[7] = bytes_field(7);
        const std::string json = json_of({LogLevel::warning, "rpc", "x", 0, many});
        EXPECT_LE(json.size(), room.size());
        EXPECT_TRUE(json.ends_with("\"bytes\": 7, \"text\": \"x\"}\n")) << json;
        EXPECT_NE(json.find("\", \"peer\": \""), std::string::npos);
    }
}

TEST(LogPrint, JsonIsValidWhateverBytesTheTextHas) {
    const std::string line = json_of({LogLevel::warning, "rpc", "\xff \xc3\xa9 \\ \n", 0});
    EXPECT_NE(line.find("\"text\": \"\\ufffd \xc3\xa9 \\\\ \\u000a\"}\n"), std::string::npos) << line;
}

TEST(LogPrint, ALineThatIsTooLongIsCutBetweenTwoCharacters) {
    std::string letters;
    for (int i = 0; i < 500; ++i) letters += "\xe2\x82\xac";
    const std::string json = json_of({LogLevel::warning, "rpc", letters, 0});
    EXPECT_LE(json.size(), room.size());
    EXPECT_GT(json.size(), room.size() - 4);
    EXPECT_TRUE(json.ends_with("\xe2\x82\xac\"}\n")) << json.substr(json.size() - 12);
    const std::string quotes = json_of({LogLevel::warning, "rpc", std::string(1023, '"'), 0});
    EXPECT_TRUE(quotes.ends_with("\\\"\"}\n")) << quotes.substr(quotes.size() - 12);
    EXPECT_TRUE(text_of({LogLevel::warning, "rpc", std::string(1023, '\1'), 0}).ends_with("\\x01\n"));
}

}  // namespace
}  // namespace cinnabar::detail
