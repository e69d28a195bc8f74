#pragma once
/// A connection to the desktop's message bus (D-Bus).

#include <dbus/dbus.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace attn::app {

struct DropBusMessage {
    void operator()(DBusMessage* message) const { dbus_message_unref(message); }
};
using BusMessage = std::unique_ptr<DBusMessage, DropBusMessage>;

/// An empty method call message. Throws PlatformError if out of memory.
BusMessage bus_method(const char* service, const char* object, const char* interface, const char* name);

using BusClock = std::chrono::steady_clock;

/// Not thread-safe. Blocking calls return soon after `given_up` becomes true and then throw PlatformError, as on any failure.
class SessionBus {
public:
    /// Connects and registers on the bus by `deadline`.
    SessionBus(const std::string& address, std::function<bool()> given_up, BusClock::time_point deadline);
    ~SessionBus();
    SessionBus(const SessionBus&) = delete;
    SessionBus& operator=(const SessionBus&) = delete;

    /// Subscribes to matching signals.
    void receive(const std::string& rule);
    void send(BusMessage message);
    /// Returns the reply. An error reply is thrown with its own message.
    BusMessage call(BusMessage message, BusClock::time_point deadline);
    /// The next signal, in order of arrival; null once `given_up`.
    BusMessage next_signal();

private:
    /// Waits briefly and returns the next message; null if none arrived.
    BusMessage next_message();

    DBusConnection* connection_;
    std::function<bool()> given_up_;
    std::deque<BusMessage> signals_;  ///< received while waiting for a reply
};

}  // namespace attn::app
