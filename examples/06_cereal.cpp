// SPDX-License-Identifier: BSD-3-Clause
// A type that cereal can serialize is a valid argument as it is: just include the bridge.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/cereal.hpp>

#include <cereal/types/memory.hpp>
#include <cereal/types/string.hpp>

#include <iostream>
#include <memory>

struct Word {
    std::string word;
    std::shared_ptr<Word> next;

    template <typename Archive>
    void serialize(Archive& archive) {
        archive(word, next);
    }
};
inline constexpr cinnabar::Rpc<std::string(Word)> join{"join"};

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server
        .serve(join,
               [](const Word& first) {
                   std::string text = first.word;
                   for (auto at = first.next; at; at = at->next) text += " " + at->word;
                   return text;
               })
        .value();

    auto [client, peer] = cinnabar::Node::connect(server.address()).value();
    auto last = std::make_shared<Word>(Word{"list", nullptr});
    const Word list{"a", std::make_shared<Word>(Word{"linked", last})};
    std::cout << client.call(join, peer, list).wait().value() << '\n';
}
