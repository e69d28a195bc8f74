#include "app/platform/session_bus.hpp"

#include "app/platform/platform_error.hpp"

namespace attn::app {
namespace {

/// Interval for checking whether the caller has given up.
constexpr int kLookMilliseconds = 100;

/// An error reported by libdbus.
struct BusFault {
    DBusError error = DBUS_ERROR_INIT;
    ~BusFault() { dbus_error_free(&error); }
    [[noreturn]] void raise() const { throw PlatformError(error.message == nullptr ? "the bus does not answer" : error.message); }
};

DBusConnection* connected(const std::string& address) {
    BusFault fault;
    DBusConnection* connection = dbus_connection_open_private(address.c_str(), &fault.error);
    if (connection == nullptr) fault.raise();
    // The end of the desktop session must not terminate the program, which has work to save.
    dbus_connection_set_exit_on_disconnect(connection, FALSE);
    return connection;
}

}  // namespace

BusMessage bus_method(const char* service, const char* object, const char* interface, const char* name) {
    BusMessage message(dbus_message_new_method_call(service, object, interface, name));
    if (message == nullptr) throw PlatformError("there is not enough memory for a message");
    return message;
}

SessionBus::SessionBus(const std::string& address, std::function<bool()> given_up, BusClock::time_point deadline)
    : connection_((dbus_connection_set_change_sigpipe(FALSE), connected(address))), given_up_(std::move(given_up)) {
    try {
        const BusMessage hello = call(bus_method(DBUS_SERVICE_DBUS, DBUS_PATH_DBUS, DBUS_INTERFACE_DBUS, "Hello"), deadline);
        const char* name = nullptr;
        if (dbus_message_get_args(hello.get(), nullptr, DBUS_TYPE_STRING, &name, DBUS_TYPE_INVALID) == FALSE)
            throw PlatformError("the bus has assigned no name");
        dbus_bus_set_unique_name(connection_, name);
    } catch (...) {
        dbus_connection_close(connection_);
        dbus_connection_unref(connection_);
        throw;
    }
}

SessionBus::~SessionBus() {
    signals_.clear();
    dbus_connection_close(connection_);
    dbus_connection_unref(connection_);
}

void SessionBus::receive(const std::string& rule) {
    BusMessage message = bus_method(DBUS_SERVICE_DBUS, DBUS_PATH_DBUS, DBUS_INTERFACE_DBUS, "AddMatch");
    const char* text = rule.c_str();
    dbus_message_append_args(message.get(), DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID);
    send(std::move(message));
}

void SessionBus::send(BusMessage message) {
    dbus_message_set_no_reply(message.get(), TRUE);
    dbus_connection_send(connection_, message.get(), nullptr);
    dbus_connection_flush(connection_);
}

BusMessage SessionBus::call(BusMessage message, BusClock::time_point deadline) {
    dbus_uint32_t serial = 0;
    if (dbus_connection_send(connection_, message.get(), &serial) == FALSE) throw PlatformError("there is not enough memory for a message");
    while (!given_up_()) {
        if (BusClock::now() > deadline) throw PlatformError("it does not answer");
        BusMessage come = next_message();
        if (come == nullptr) continue;
        if (dbus_message_get_type(come.get()) == DBUS_MESSAGE_TYPE_SIGNAL) {
            signals_.push_back(std::move(come));
        } else if (dbus_message_get_reply_serial(come.get()) == serial) {
            BusFault fault;
            if (dbus_set_error_from_message(&fault.error, come.get()) != FALSE) fault.raise();
            return come;
        }
    }
    throw PlatformError("the wait was cancelled");
}

BusMessage SessionBus::next_signal() {
    while (signals_.empty()) {
        if (given_up_()) return nullptr;
        BusMessage come = next_message();
        if (come != nullptr && dbus_message_get_type(come.get()) == DBUS_MESSAGE_TYPE_SIGNAL) return come;
    }
    BusMessage first = std::move(signals_.front());
    signals_.pop_front();
    return first;
}

BusMessage SessionBus::next_message() {
    if (DBusMessage* waiting = dbus_connection_pop_message(connection_); waiting != nullptr) return BusMessage(waiting);
    if (dbus_connection_read_write(connection_, kLookMilliseconds) == FALSE) throw PlatformError("the bus has closed the connection");
    return BusMessage(dbus_connection_pop_message(connection_));
}

}  // namespace attn::app
