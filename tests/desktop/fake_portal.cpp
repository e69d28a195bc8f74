#include "tests/desktop/fake_portal.hpp"

#include <dbus/dbus.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>

namespace attn::test {
namespace {

constexpr const char* kName = "org.freedesktop.portal.Desktop";

/// Formats any value as text: containers by their elements, byte arrays as paths.
std::string as_text(DBusMessageIter* at) {
    switch (dbus_message_iter_get_arg_type(at)) {
    case DBUS_TYPE_STRING: {
        const char* text = nullptr;
        dbus_message_iter_get_basic(at, &text);
        return text;
    }
    case DBUS_TYPE_BOOLEAN: {
        dbus_bool_t value = FALSE;
        dbus_message_iter_get_basic(at, &value);
        return value != FALSE ? "true" : "false";
    }
    case DBUS_TYPE_BYTE: {
        unsigned char byte = 0;
        dbus_message_iter_get_basic(at, &byte);
        return byte == 0 ? "\\0" : std::string(1, static_cast<char>(byte));
    }
    case DBUS_TYPE_UINT32: {
        dbus_uint32_t value = 0;
        dbus_message_iter_get_basic(at, &value);
        return std::to_string(value);
    }
    default: {
        const bool spelled =
            dbus_message_iter_get_arg_type(at) == DBUS_TYPE_ARRAY && dbus_message_iter_get_element_type(at) == DBUS_TYPE_BYTE;
        const bool variant = dbus_message_iter_get_arg_type(at) == DBUS_TYPE_VARIANT;
        std::string all;
        DBusMessageIter inner;
        for (dbus_message_iter_recurse(at, &inner); dbus_message_iter_get_arg_type(&inner) != DBUS_TYPE_INVALID;
             dbus_message_iter_next(&inner))
            all += (all.empty() || spelled ? "" : " ") + as_text(&inner);
        return spelled || variant ? all : "(" + all + ")";
    }
    }
}

DBusConnection* joined(const std::string& address) {
    DBusConnection* connection = dbus_connection_open_private(address.c_str(), nullptr);
    if (connection == nullptr || dbus_bus_register(connection, nullptr) == FALSE) throw std::runtime_error("the test's bus is not there");
    dbus_connection_set_exit_on_disconnect(connection, FALSE);
    return connection;
}

void leave(DBusConnection* connection) {
    dbus_connection_close(connection);
    dbus_connection_unref(connection);
}

void send(DBusConnection* connection, DBusMessage* message) {
    dbus_connection_send(connection, message, nullptr);
    dbus_connection_flush(connection);
    dbus_message_unref(message);
}

DBusMessage* response(const std::string& path, const char* to, std::uint32_t code, const std::vector<std::string>& uris) {
    DBusMessage* message = dbus_message_new_signal(path.c_str(), "org.freedesktop.portal.Request", "Response");
    dbus_message_set_destination(message, to);
    DBusMessageIter arguments, results, entry, value, list;
    dbus_message_iter_init_append(message, &arguments);
    dbus_message_iter_append_basic(&arguments, DBUS_TYPE_UINT32, &code);
    dbus_message_iter_open_container(&arguments, DBUS_TYPE_ARRAY, "{sv}", &results);
    dbus_message_iter_open_container(&results, DBUS_TYPE_DICT_ENTRY, nullptr, &entry);
    const char* name = "uris";
    dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &name);
    dbus_message_iter_open_container(&entry, DBUS_TYPE_VARIANT, "as", &value);
    dbus_message_iter_open_container(&value, DBUS_TYPE_ARRAY, "s", &list);
    for (const std::string& uri : uris) {
        const char* text = uri.c_str();
        dbus_message_iter_append_basic(&list, DBUS_TYPE_STRING, &text);
    }
    dbus_message_iter_close_container(&value, &list);
    dbus_message_iter_close_container(&entry, &value);
    dbus_message_iter_close_container(&results, &entry);
    dbus_message_iter_close_container(&arguments, &results);
    return message;
}

FakePortal::Asked read_question(DBusMessage* message) {
    FakePortal::Asked asked{dbus_message_get_member(message), "", {}};
    DBusMessageIter at, entries;
    dbus_message_iter_init(message, &at);
    dbus_message_iter_next(&at);
    asked.title = as_text(&at);
    dbus_message_iter_next(&at);
    for (dbus_message_iter_recurse(&at, &entries); dbus_message_iter_get_arg_type(&entries) == DBUS_TYPE_DICT_ENTRY;
         dbus_message_iter_next(&entries)) {
        DBusMessageIter entry;
        dbus_message_iter_recurse(&entries, &entry);
        const std::string name = as_text(&entry);
        dbus_message_iter_next(&entry);
        asked.options[name] = as_text(&entry);
    }
    return asked;
}

}  // namespace

class FakePortal::Service {
public:
    Service(FakePortal& portal, const std::string& address) : portal_(portal), address_(address), connection_(joined(address)) {
        dbus_bus_request_name(connection_, kName, DBUS_NAME_FLAG_DO_NOT_QUEUE, nullptr);
    }
    ~Service() {
        if (connection_ != nullptr) leave(connection_);
    }
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    void serve(const std::stop_token& stop) {
        while (!stop.stop_requested() && connection_ != nullptr && dbus_connection_read_write(connection_, 10) != FALSE)
            while (DBusMessage* message = connection_ == nullptr ? nullptr : dbus_connection_pop_message(connection_)) {
                if (dbus_message_get_type(message) == DBUS_MESSAGE_TYPE_METHOD_CALL) handle(message);
                dbus_message_unref(message);
            }
    }

private:
    void handle(DBusMessage* message) {
        const std::string member = dbus_message_get_member(message);
        if (member == "Get") answer_version(message);
        else if (member == "Close") portal_.note_closed();
        else if (member == "OpenFile" || member == "SaveFile") show_dialog(message);
    }

    void answer_version(DBusMessage* message) {
        if (!portal_.ways_.answers_calls) return;
        if (!portal_.ways_.has_dialogs)
            return send(connection_, dbus_message_new_error(message, DBUS_ERROR_UNKNOWN_INTERFACE, "No such interface"));
        DBusMessage* reply = dbus_message_new_method_return(message);
        DBusMessageIter argument, value;
        const dbus_uint32_t version = 3;
        dbus_message_iter_init_append(reply, &argument);
        dbus_message_iter_open_container(&argument, DBUS_TYPE_VARIANT, "u", &value);
        dbus_message_iter_append_basic(&value, DBUS_TYPE_UINT32, &version);
        dbus_message_iter_close_container(&argument, &value);
        send(connection_, reply);
    }

    void show_dialog(DBusMessage* message) {
        const FakePortalWays& ways = portal_.ways_;
        Asked asked = read_question(message);
        const std::string token = asked.options["handle_token"], sender = dbus_message_get_sender(message);
        portal_.note(std::move(asked));
        if (!ways.answers_calls) return;
        if (ways.refuses) return send(connection_, dbus_message_new_error(message, DBUS_ERROR_ACCESS_DENIED, "Portals are not for you"));
        std::string name = sender.substr(1);
        std::replace(name.begin(), name.end(), '.', '_');
        const std::string path = ways.request.empty() ? "/org/freedesktop/portal/desktop/request/" + name + "/" + token : ways.request;
        if (ways.forged) forge(path, sender.c_str());
        if (ways.responds && ways.responds_first) send(connection_, response(path, sender.c_str(), ways.code, ways.uris));
        DBusMessage* reply = dbus_message_new_method_return(message);
        const char* text = path.c_str();
        dbus_message_append_args(reply, DBUS_TYPE_OBJECT_PATH, &text, DBUS_TYPE_INVALID);
        send(connection_, reply);
        if (ways.responds && !ways.responds_first) send(connection_, response(path, sender.c_str(), ways.code, ways.uris));
        if (ways.vanishes) {
            leave(connection_);
            connection_ = nullptr;
        }
    }

    void forge(const std::string& path, const char* to) const {
        DBusConnection* other = joined(address_);
        send(other, response(path, to, 0, {"file:///forged"}));
        leave(other);
    }

    FakePortal& portal_;
    std::string address_;
    DBusConnection* connection_;
};

FakePortal::FakePortal(std::string address, FakePortalWays ways) : ways_(std::move(ways)) {
    std::atomic<bool> ready{false};
    thread_ = std::jthread([this, &ready, address = std::move(address)](const std::stop_token& stop) {
        Service service(*this, address);
        ready = true;
        ready.notify_one();
        service.serve(stop);
    });
    ready.wait(false);
}

FakePortal::~FakePortal() = default;

std::vector<FakePortal::Asked> FakePortal::asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
}

int FakePortal::closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
}

void FakePortal::note(Asked asked) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(asked));
}

void FakePortal::note_closed() {
    const std::lock_guard lock(mutex_);
    ++closed_;
}

}  // namespace attn::test
