// SPDX-License-Identifier: BSD-3-Clause
// The SRV records of a service: decoded, ordered, asked of a name server, and as seeds of a group.
#include "back_off.hpp"
#include "bootstrap_dns.hpp"
#include "name_server.hpp"
#include "support/silent_listener.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::Group;
using group::ServiceRecord;
using Records = std::vector<ServiceRecord>;

constexpr const char* service = "_group._tcp.example.org";

Result<Records> decode(const DnsMessage& message) { return group::decode_services(as_bytes(message)); }

TEST(service, the_records_of_an_answer_are_decoded) {
    const Records records{{1, 2, 4000, "one.example.org"}, {0, 65535, 65535, "a_b-c.example"}};
    EXPECT_EQ(decode(answer_to(question_for(service), records)).value(), records);
    EXPECT_TRUE(decode(answer_to(question_for(service), {})).value().empty());
    // Twice the same, and a host that is the root.
    const Records more{records[0], records[0], {0, 0, 0, ""}, {0, 0, 1, ""}, records[1]};
    EXPECT_EQ(decode(answer_to(question_for(service), more)).value(), records);
}

TEST(service, other_records_are_passed_over_and_names_may_be_compressed) {
    DnsMessage message = answer_to(question_for(service), {});
    message[7] = 3;                                    // answers
    put_record(message, 5, std::string("\1x\0", 3));   // CNAME
    DnsMessage data("\0\1\0\2\x0f\xa0\3two\xc0", 11);  // continues at "example.org"
    data += static_cast<char>(12 + 1 + 6 + 1 + 4);
    put_record(message, 33, data);
    put_record(message, 16, std::string("\4text", 5));  // TXT
    EXPECT_EQ(decode(message).value(), (Records{{1, 2, 4000, "two.example.org"}}));
}

TEST(service, a_malformed_answer_is_an_error) {
    const DnsMessage good = answer_to(question_for(service), {{1, 2, 4000, "one.example.org"}});
    for (std::size_t bytes = 0; bytes < good.size(); ++bytes)
        EXPECT_EQ(decode(good.substr(0, bytes)).code(), Errc::protocol) << bytes;
    EXPECT_EQ(decode(question_for(service)).code(), Errc::protocol);
    EXPECT_EQ(decode(answer_to(question_for(service), {}, 3)).code(), Errc::protocol);
    for (const ServiceRecord& wrong :
         Records{{0, 0, 0, "host"}, {0, 0, 1, "a b"}, {0, 0, 1, "a/b"}, {0, 0, 1, "a:1"}, {0, 0, 1, "a\\b"}})
        EXPECT_EQ(decode(answer_to(question_for(service), {wrong})).code(), Errc::protocol) << wrong.host;
    for (const std::string& data : {std::string("\0\0\0\0\0\1\4host\0x", 13), std::string("\0\0\0\0\0\1\xc0\x0c\0", 9),
                                    std::string("\0\0\0\0\0\1\xff\xff", 8), std::string("\0\0\0", 3)}) {
        DnsMessage message = answer_to(question_for(service), {});
        message[7] = 1;
        put_record(message, 33, data);
        EXPECT_EQ(decode(message).code(), Errc::protocol) << data.size();
    }
}

TEST(service, hosts_come_by_priority_and_as_often_first_as_their_weight_says) {
    Random random(7);
    std::map<std::string, int> first;
    for (int i = 0; i < 4000; ++i) {
        Records records{{2, 9, 1, "late"}, {1, 30, 1, "often"}, {1, 0, 1, "never"}, {1, 10, 1, "seldom"}};
        group::order_services(records, random);
        ASSERT_EQ(records.back().host, "late");
        ++first[records.front().host];
    }
    EXPECT_NEAR(first["often"], 2930, 150);
    EXPECT_NEAR(first["seldom"], 976, 120);
    EXPECT_LT(first["never"], 200);  // one in 41
    Records none;
    group::order_services(none, random);
    EXPECT_TRUE(none.empty());
}

TEST(service, a_name_server_is_asked) {
    std::string asked;
    std::vector<std::string> found;
    {
        const NameServer server([&](const DnsMessage& question) {
            asked = question;
            return answer_to(question, {{2, 0, 2, "b.example"}, {1, 0, 1, "a.example"}, {3, 0, 2, "b.example"}});
        });
        found = group::look_up_service("tcp://_group._tcp.example.org?key=/k", server.address()).value();
    }
    EXPECT_EQ(found, (std::vector<std::string>{"tcp://a.example:1?key=/k", "tcp://b.example:2?key=/k"}));
    EXPECT_NE(asked.find(question_for(service).substr(12)), std::string::npos);
}

TEST(service, of_a_long_answer_the_first_256_addresses_are_taken) {
    Records records;
    for (std::uint16_t i = 1; i <= 300; ++i) records.push_back({static_cast<std::uint16_t>(301 - i), 0, i, "host"});
    const NameServer server([&](const DnsMessage& question) { return answer_to(question, records); });
    const auto found = group::look_up_service("tcp://many", server.address()).value();
    ASSERT_EQ(found.size(), 256u);
    EXPECT_EQ(found.front(), "tcp://host:300");
    EXPECT_EQ(found.back(), "tcp://host:45");
}

TEST(service, each_failure_has_its_code) {
    const auto answered = [](const NameServer::Answer& answer) {
        const NameServer server(answer);
        return group::look_up_service("tcp://name", server.address()).code();
    };
    const auto with_code = [](unsigned code) {
        return [code](const DnsMessage& question) { return answer_to(question, {}, code); };
    };
    EXPECT_EQ(answered(with_code(3)), Errc::bad_address);  // no such name
    EXPECT_EQ(answered(with_code(0)), Errc::bad_address);  // no such record
    EXPECT_EQ(answered([](const DnsMessage& question) {
                  return answer_to(question, {{0, 0, 0, ""}});
              }),
              Errc::bad_address);
    EXPECT_EQ(answered(with_code(2)), Errc::unreachable);  // the server fails
    EXPECT_EQ(answered(with_code(1)), Errc::io);           // it does not understand the question
    EXPECT_EQ(answered([](const DnsMessage& question) {
                  return answer_to(question, {{0, 0, 0, "x"}});
              }),
              Errc::protocol);
    sockaddr_in nobody{};
    nobody.sin_family = AF_INET;
    nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    nobody.sin_port = htons(1);
    EXPECT_EQ(group::look_up_service("tcp://name", nobody).code(), Errc::unreachable);
    for (const char* wrong : {"", "name", "tcp://", "tcp://name:1", "tcp://name:x"})
        EXPECT_EQ(group::look_up_service(wrong, nobody).code(), Errc::bad_address) << wrong;
    const Node node = Node::open("tcp://").value();
    EXPECT_EQ(sync_wait(group::addresses_of_service(node, "tcp://name:1")).code(), Errc::bad_address);
}

ServiceRecord record_of(const Node& node, std::uint16_t priority) {
    const std::string address = node.endpoints().front();
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    return {priority, 0, port, "localhost"};
}

TEST(service, members_join_by_the_records_even_if_the_first_host_is_silent) {
    const Node first = Node::listen("tcp://127.0.0.1:0").value();
    const Group group = Group::create(first).value();
    const support::SilentListener silent;
    std::atomic<int> asked = 0;
    const NameServer server([&](const DnsMessage& question) {
        // The name comes into being after the first question.
        if (asked++ == 0) return answer_to(question, {}, 3);
        return answer_to(question, {record_of(first, 2), {1, 0, silent.port(), "127.0.0.1"}});
    });
    const Node second = Node::listen("tcp://127.0.0.1:0").value();
    const auto joined = sync_wait(group::join_by_service(second, "tcp://_group._tcp.here", {}, server.address()));
    ASSERT_TRUE(joined.ok()) << joined.error().message();
    EXPECT_EQ(joined->rank(), 1u);
    EXPECT_GE(asked, 2);
    EXPECT_TRUE(silent.was_dialled());
}

// A factor from 0.5 to 1.5 belongs to each pause; the third one is four times the first.
TEST(service, a_name_that_is_missing_is_asked_for_less_and_less_often) {
    const Node first = Node::listen("tcp://127.0.0.1:0").value();
    const Group group = Group::create(first).value();
    std::vector<std::chrono::steady_clock::time_point> asked;
    std::optional<NameServer> server(std::in_place, [&](const DnsMessage& question) {
        asked.push_back(std::chrono::steady_clock::now());
        return asked.size() < 4 ? answer_to(question, {}, 3) : answer_to(question, {record_of(first, 1)});
    });
    const Node second = Node::listen("tcp://127.0.0.1:0").value();
    EXPECT_TRUE(sync_wait(group::join_by_service(second, "tcp://_group._tcp.here", {}, server->address())).ok());
    server.reset();  // it asks no more
    ASSERT_GE(asked.size(), 4u);
    EXPECT_GE(asked[3] - asked[2], 390ms);
}

TEST(back_off, pauses_double_up_to_a_limit_and_differ_by_chance) {
    Random random(7);
    group::BackOff pauses(random, 100us, 1000us);
    for (const auto whole : {100us, 200us, 400us, 800us, 1000us, 1000us}) {
        const Microseconds pause = pauses.next();
        EXPECT_GE(pause, whole / 2);
        EXPECT_LT(pause, whole + whole / 2);
    }
    Random other(8);
    EXPECT_NE(group::BackOff(random, 1s, 1s).next(), group::BackOff(other, 1s, 1s).next());
}

TEST(service, a_source_names_a_service_and_rank_0_creates_the_group) {
    const Node first = Node::listen("tcp://127.0.0.1:0").value();
    EXPECT_EQ(sync_wait(group::bootstrap(first, {"srv:tcp://name", 0, 0, {}})).value().rank(), 0u);
    const Node second = Node::listen("tcp://127.0.0.1:0").value();
    group::GroupOptions options;
    options.join_time = 100ms;
    EXPECT_EQ(sync_wait(group::bootstrap(second, {"srv:tcp://name:1", 1, 0, {}}, options)).code(), Errc::bad_address);
}

}  // namespace
}  // namespace cinnabar::test
