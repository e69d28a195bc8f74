#pragma once
/// A connection to the bus on which the programs of a desktop talk to each other (D-Bus).

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

/// A call to be filled in. Throws PlatformError when there is no memory for it.
BusMessage bus_method(const char* service, const char* object, const char* interface, const char* name);

using BusClock = std::chrono::steady_clock;

/// Used from one thread. Every wait ends soon after `given_up` has become true, and then throws PlatformError, as all failures do.
class SessionBus {
public:
    /// Connects and says hello, waiting until `deadline` at the latest.
    SessionBus(const std::string& address, std::function<bool()> given_up, BusClock::time_point deadline);
    ~SessionBus();
    SessionBus(const SessionBus&) = delete;
    SessionBus& operator=(const SessionBus&) = delete;

    /// Signals that fit are received from now on.
    void receive(const std::string& rule);
    void send(BusMessage message);
    /// The answer. An error that comes instead is thrown in its own words.
    BusMessage call(BusMessage message, BusClock::time_point deadline);
    /// The next signal that was received, in the order in which they came; null once `given_up`.
    BusMessage next_signal();

private:
    /// Waits a moment for what comes and takes in the next message; null where none came.
    BusMessage next_message();

    DBusConnection* connection_;
    std::function<bool()> given_up_;
    std::deque<BusMessage> signals_;  ///< that came while an answer was waited for
};

}  // namespace attn::app
