// SPDX-License-Identifier: BSD-3-Clause
// A name server on the loopback that answers questions about SRV records, and the messages that it sends.
#pragma once

#include "service_records.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <netinet/in.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace cinnabar::test {

using DnsMessage = std::string;

void put_u16(DnsMessage& message, unsigned value);
// The name as labels, without compression.
void put_name(DnsMessage& message, const std::string& name);
// A record of the name in question.
void put_record(DnsMessage& message, unsigned type, const DnsMessage& data);
// An answer with these records to a question as the resolver sends it.
[[nodiscard]] DnsMessage answer_to(const DnsMessage& question, const std::vector<group::ServiceRecord>& records,
                                   unsigned code = 0);
[[nodiscard]] DnsMessage question_for(const std::string& name);

// Answers over UDP, and over TCP if an answer is longer than 512 bytes. `answer` runs on a thread of the server.
class NameServer {
  public:
    using Answer = std::function<DnsMessage(const DnsMessage& question)>;

    explicit NameServer(Answer answer);
    ~NameServer();
    NameServer(const NameServer&) = delete;
    NameServer& operator=(const NameServer&) = delete;

    [[nodiscard]] sockaddr_in address() const noexcept { return address_; }

  private:
    void serve();
    void answer_datagram();
    void answer_stream();

    Answer answer_;
    sockaddr_in address_{};
    UniqueFd udp_;
    UniqueFd tcp_;
    std::atomic<bool> ends_ = false;
    std::thread thread_;
};

}  // namespace cinnabar::test
