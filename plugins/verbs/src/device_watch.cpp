// SPDX-License-Identifier: BSD-3-Clause
#include "device_watch.hpp"

#include "device_events.hpp"
#include "port.hpp"
#include "process_ports.hpp"
#include "rdma_library.hpp"

#include <cinnabar/base/log.hpp>

#include <fcntl.h>
#include <sys/epoll.h>

namespace cinnabar::verbs {
namespace {

// Whether the event is about a queue or the device of that port.
bool concerns(const ibv_async_event& event, VerbsPort& port, const ibv_context& device) noexcept {
    switch (event.event_type) {
        case IBV_EVENT_CQ_ERR:
            return event.element.cq == port.arrivals().queue().get();
        case IBV_EVENT_SRQ_ERR:
            return event.element.srq == port.slots().queue();
        default:
            return port.device().context() == &device;
    }
}

}  // namespace

bool DeviceWatch::start() noexcept {
    const int fd = device_.context()->async_fd;
    (void)::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    return watch_.start(fd, EPOLLIN | EPOLLEXCLUSIVE);
}

void DeviceWatch::ready() noexcept {
    ibv_async_event event{};
    while (rdma().get_async_event(device_.context(), &event) == 0) {
        const DeviceStep step = device_step_of(event.event_type, device_.traits().iwarp);
        const char* const name = rdma().get_device_name(device_.context()->device);
        switch (step.action) {
            case DeviceAction::ignore:
                break;
            case DeviceAction::end_session: {
                // Only marks the session: its queue pair cannot be destroyed before the event is acknowledged.
                Session* const session = ProcessQueuePairs::get().find(event.element.qp);
                if (!session) break;
                session->broken.store(step.why, std::memory_order_relaxed);
                session->port().failure().session_broke();
                break;
            }
            case DeviceAction::end_port:
            case DeviceAction::end_ports:
                log(LogLevel::error, "verbs", "%s: %s: all sessions that use it end", name,
                    rdma().event_type_str(event.event_type));
                ProcessPorts::get().each([&](VerbsPort& port) {
                    if (concerns(event, port, *device_.context())) port.failure().fail(step.why);
                });
                break;
            case DeviceAction::tell:
                log(LogLevel::warning, "verbs", "port %d of %s is down: operations fail when their retries are used up",
                    event.element.port_num, name);
                break;
        }
        rdma().ack_async_event(&event);
    }
}

}  // namespace cinnabar::verbs
