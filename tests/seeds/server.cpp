// SPDX-License-Identifier: BSD-3-Clause
#include "server.hpp"

#include "mesh.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::seeds {

struct Server::Movement {
    Task* task = nullptr;
    std::uint8_t index = 0;
    bulk::RemoteRegion remote;
    std::uint64_t seed = 0;  // of the memory that the origin lent
    bulk::Direction direction = bulk::Direction::pull;
    std::uint64_t offset = 0;  // in the remote region
    std::unique_ptr<Lent> local;
    na::Peer* peer = nullptr;  // referenced, if the request may be released before the transfer
    bulk::Transfer* transfer = nullptr;
};

// Lives as long as the server, so that a cancel that arrives too late is noticed.
struct Server::Task {
    Server* server = nullptr;
    rpc::Request* request = nullptr;  // null once released
    bool told = false;                // of the cancel
    Ask ask;
    std::list<Movement> movements;
    unsigned under_way = 0;  // transfers, or a call to another process
    Errc failed = Errc::ok;
    std::vector<Pushed> pushed;
    Sent* relayed = nullptr;
};

Server::Server(Process& process) : process_(process), mesh_(process.mesh()) {
    serve(Kind::echo, &Server::echo);
    serve(Kind::hold, &Server::hold);
    serve(Kind::relay, &Server::relay);
    serve(Kind::move, &Server::move);
    serve(Kind::note, &Server::note);
    if (mesh_.climate().liar) guests_.serve(process_.engine());
}

Server::~Server() {
    for (const Task& task : tasks_) {
        EXPECT_EQ(task.request, nullptr);
        EXPECT_EQ(task.under_way, 0u) << "a transfer or call that did not end with its context";
    }
}

void Server::serve(Kind kind, void (Server::*handler)(Task&)) {
    struct Target {
        Server* server;
        void (Server::*handler)(Task&);
    };
    rpc::Handler entry;
    entry.name = name_of(kind);
    entry.on_arrival = mesh_.climate().on_arrival;
    entry.target = std::make_shared<Target>(Target{this, handler});
    entry.run = [](rpc::Request& request, void* user) noexcept {
        const auto& target = *static_cast<Target*>(user);
        (target.server->*target.handler)(target.server->take(request));
    };
    process_.engine().serve(rpc::rpc_id(name_of(kind)), 0, std::move(entry)).value();
}

Server::Task& Server::take(rpc::Request& request) {
    // Real time may reach the deadline between the context's check and this one.
    EXPECT_TRUE(mesh_.is_real() || !request.canceled()) << "a handler that nobody waits for";
    Task& task = tasks_.emplace_back();
    task.server = this;
    task.request = &request;
    ByteReader reader(request.input());
    task.ask = Ask::decode(reader);
    mesh_.ledger().note(task.ask.id);
    const ConstBytes input = request.input();
    EXPECT_GE(input.size(), Ask::wire_bytes + task.ask.pattern_bytes);
    EXPECT_TRUE(holds_pattern(input.last(task.ask.pattern_bytes), task.ask.id, 0)) << "arguments with other bytes";
    return task;
}

void Server::echo(Task& task) { answer(task); }

void Server::note(Task& task) {
    EXPECT_TRUE(task.request->one_way());
    if (task.ask.dice % 2 == 0) task.request->respond(0);
    finish(task);
}

void Server::hold(Task& task) {
    if (task.ask.dice % 4 != 0) {
        task.request->detach();
        const ConstBytes input = task.request->input();
        EXPECT_TRUE(holds_pattern(input.last(task.ask.pattern_bytes), task.ask.id, 0)) << "after detach";
    }
    if (task.ask.dice % 4 == 1) task.request->release_input();
    task.request->on_cancel(&Server::on_cancel, &task);
    held_.push_back(&task);
}

void Server::on_cancel(rpc::Request& request, void* user) noexcept {
    auto& task = *static_cast<Task*>(user);
    EXPECT_EQ(task.request, &request) << "told after the last release";
    EXPECT_FALSE(std::exchange(task.told, true)) << "told twice";
    EXPECT_TRUE(request.canceled());
    if (task.relayed && task.relayed->call && task.relayed->endings == 0) {
        task.relayed->canceled = true;
        task.relayed->call->cancel();
    }
}

void Server::relay(Task& task) {
    task.request->detach();
    Wish wish;
    const bool deeper = task.ask.depth > 0;
    wish.kind = deeper ? Kind::relay : task.ask.dice % 3 == 0 ? Kind::move : Kind::echo;
    wish.depth = deeper ? static_cast<std::uint8_t>(task.ask.depth - 1) : std::uint8_t{0};
    wish.deadline = task.request->deadline();
    wish.argument_bytes = mesh_.calls().any_bytes();
    wish.reply_bytes = mesh_.calls().any_bytes();
    Process& next = mesh_.any_process();
    const bool by_name = next.listens() && task.ask.dice % 4 != 0 && !(mesh_.is_real() && &next == &process_);
    wish.to = by_name ? next.addr() : task.request->source();
    task.under_way = 1;
    wish.then = [this, &task](Sent&, Errc result) {
        task.relayed = nullptr;
        task.under_way = 0;
        if (!task.request) return;
        if (result == Errc::ok) return answer(task);
        fail(task, result);
    };
    task.relayed = mesh_.calls().send(process_, std::move(wish));
    if (!task.relayed) {
        task.under_way = 0;
        return fail(task, Errc::overloaded);
    }
    task.request->on_cancel(&Server::on_cancel, &task);
}

void Server::move(Task& task) {
    Random& random = mesh_.random();
    ByteReader reader(task.request->input());
    (void)Ask::decode(reader);
    for (unsigned i = 0; i < task.ask.lent; ++i) {
        Movement& movement = task.movements.emplace_back();
        movement.task = &task;
        movement.index = static_cast<std::uint8_t>(i);
        movement.seed = reader.u64();
        const auto access = static_cast<na::Access>(reader.u8());
        ASSERT_EQ(bulk::RemoteRegion::decode(reader, movement.remote), Errc::ok);
        ASSERT_EQ(movement.remote.own(), Errc::ok);
        const bool push = access == na::Access::write || (access == na::Access::read_write && random.chance(2));
        movement.direction = push ? bulk::Direction::push : bulk::Direction::pull;
        movement.offset = random.chance(2) ? 0 : random.below(movement.remote.bytes());
        const std::uint64_t bytes = 1 + random.below(movement.remote.bytes() - movement.offset);
        movement.local = std::make_unique<Lent>(random, bytes, 5, na::Access::read_write, 0);
        // A push writes the bytes that the remote memory must contain afterwards.
        if (push) movement.local->fill(~movement.seed, movement.offset);
    }
    task.request->detach();
    task.under_way = 1;
    for (Movement& movement : task.movements) start(task, movement);
    // A rogue answers while its transfers are still running.
    if (mesh_.climate().rogues && random.chance(4) && task.under_way > 1) answer(task);
    if (--task.under_way == 0) moves_over(task);
}

void Server::start(Task& task, Movement& movement) {
    bulk::TransferArgs args;
    args.direction = movement.direction;
    args.remote = &movement.remote;
    args.remote_offset = movement.offset;
    args.local = movement.local->region();
    args.bytes = movement.local->bytes();
    const auto done = [](bulk::Transfer& transfer, void* user) noexcept {
        auto& over = *static_cast<Movement*>(user);
        Server& server = *over.task->server;
        const Errc result = transfer.result();
        over.transfer = nullptr;
        server.process_.context().mover().release(transfer);
        if (na::Peer* held = std::exchange(over.peer, nullptr)) held->release();
        server.moved(over, result);
    };
    Errc why = Errc::ok;
    const bool rogue = mesh_.climate().rogues && mesh_.random().chance(4);
    if (rogue) {
        args.peer = task.request->source();
        args.connected = movement.peer = &task.request->peer();
        movement.peer->acquire();
        auto& mover = process_.context().mover();
        movement.transfer = mover.start(args, done, &movement, bulk::Deliver::queued, nullptr, why);
    } else {
        movement.transfer = task.request->transfer(args, done, &movement, nullptr, why);
    }
    if (movement.transfer) {
        ++task.under_way;
        return;
    }
    if (na::Peer* held = std::exchange(movement.peer, nullptr)) held->release();
    EXPECT_TRUE(mesh_.climate().tight || task.request->canceled() || process_.closing) << to_string(why);
    task.failed = why;
    mesh_.ledger().bury(std::move(movement.local));
}

void Server::moved(Movement& movement, Errc result) {
    Task& task = *movement.task;
    mesh_.ledger().note(static_cast<std::uint64_t>(result));
    if (result != Errc::ok) {
        task.failed = result;
    } else if (movement.direction == bulk::Direction::push) {
        task.pushed.push_back({movement.index, movement.offset, movement.local->bytes()});
    } else {
        EXPECT_TRUE(movement.local->holds(0, movement.local->bytes(), movement.seed, movement.offset)) << "pulled";
        mesh_.ledger().tally.bytes_moved += movement.local->bytes();
    }
    mesh_.ledger().bury(std::move(movement.local));
    if (--task.under_way == 0) moves_over(task);
}

void Server::moves_over(Task& task) {
    if (!task.request) return;
    if (task.failed != Errc::ok) return fail(task, task.failed);
    answer(task);
}

void Server::answer(Task& task) {
    rpc::Request& request = *task.request;
    // A handler that answers while it still writes does not know what it will have written.
    const bool writing = task.under_way != 0;
    if (writing) task.pushed.clear();
    const std::size_t bytes = 8 + 1 + 17 * task.pushed.size() + task.ask.reply_bytes;
    Bytes room = request.output_room();
    if (bytes > room.size() || task.ask.dice % 16 == 0) {
        if (request.grow_output(bytes, room) != Errc::ok) {
            EXPECT_TRUE(mesh_.climate().tight);
            room = {};
        }
    }
    if (room.empty()) {
        request.respond_error(Errc::overloaded);
        return finish(task);
    }
    ByteWriter writer(room);
    writer.u64(task.ask.id);
    writer.u8(static_cast<std::uint8_t>(writing ? still_writing : task.pushed.size()));
    for (const Pushed& window : task.pushed) {
        writer.u8(window.index);
        writer.u64(window.offset);
        writer.u64(window.bytes);
    }
    fill_pattern(room.subspan(writer.size(), task.ask.reply_bytes), ~task.ask.id, 0);
    request.respond(bytes);
    finish(task);
}

void Server::fail(Task& task, Errc why) {
    task.request->respond_error(Errc::application, static_cast<std::uint32_t>(why), "as the dice fell");
    finish(task);
}

void Server::finish(Task& task) {
    std::erase(held_, &task);
    std::exchange(task.request, nullptr)->release();
}

bool Server::end_one() {
    if (guests_.answer_one()) return true;
    if (held_.empty()) return false;
    Task& task = *held_[mesh_.random().below(held_.size())];
    const std::uint64_t what = mesh_.random().below(10);
    if (what < 7) {
        answer(task);
    } else if (what < 8) {
        fail(task, Errc::io);
    } else {
        finish(task);
    }
    return true;
}

void Server::end_all() {
    while (end_one()) {
    }
}

void Server::cancel_one_transfer() {
    std::vector<Movement*> running;
    for (Task& task : tasks_) {
        for (Movement& movement : task.movements) {
            if (movement.transfer) running.push_back(&movement);
        }
    }
    if (running.empty()) return;
    process_.context().mover().cancel(*running[mesh_.random().below(running.size())]->transfer);
}

void Server::let_go() {
    while (guests_.answer_one()) {
    }
    for (Task& task : tasks_) {
        if (task.request) finish(task);
    }
}

}  // namespace cinnabar::seeds
