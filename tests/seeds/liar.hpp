// SPDX-License-Identifier: BSD-3-Clause
// A hostile peer of all processes that listen: it follows the format but breaks the rules of use. Whatever it does,
// honest processes must not fail.
#pragma once

#include "../hostile/behaviours.hpp"

#include <cinnabar/rpc/engine.hpp>
#include <cinnabar/rpc/request.hpp>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::seeds {

class Mesh;
class Process;

// The handlers that a process serves for the liar.
class LiarService {
  public:
    void serve(rpc::Engine& engine);
    // Answers one of the held requests. False: none is held.
    bool answer_one();

  private:
    std::vector<rpc::Request*> held_;
};

class Liar {
  public:
    explicit Liar(Mesh& mesh);
    ~Liar();

    // Does one hostile thing to one of the processes.
    void act();
    // Reads the messages from some of the processes, or from none.
    void look();

  private:
    using End = std::unique_ptr<hostile::RudePeer>;
    // A large result that an incarnation of a process lent to the liar.
    struct Relic {
        std::string process;
        unsigned life = 0;
        std::vector<std::byte> descriptor;
    };

    void come(End& end, const Process& target);
    // Repeats a frame that this end or another one has sent or received earlier.
    void replay(hostile::RudePeer& end);
    // Reads memory that was lent to the liar for a long time, or releases it.
    void hold(hostile::RudePeer& end, const Process& target);
    // Reads memory that is no longer lent to the liar, or that another process has lent.
    void dig_up(hostile::RudePeer& end, const Process& target);
    void bury(const Process& target, ConstBytes descriptor);

    Mesh& mesh_;
    std::map<std::string, End> ends_;  // by the name of the process to which it is connected
    std::deque<Relic> relics_;
    unsigned step_ = 0;
};

}  // namespace cinnabar::seeds
