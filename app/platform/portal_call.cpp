#include "app/platform/portal_call.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

#include "app/platform/file_uri.hpp"
#include "app/platform/platform_error.hpp"
#include "app/platform/session_bus.hpp"

namespace attn::app {
namespace {

constexpr const char* kService = "org.freedesktop.portal.Desktop";
constexpr const char* kObject = "/org/freedesktop/portal/desktop";
constexpr const char* kDialogs = "org.freedesktop.portal.FileChooser";
constexpr const char* kRequest = "org.freedesktop.portal.Request";
constexpr const char* kToken = "attnscope";

/// Appends to a message; containers are closed at the end of their scope.
class BusWriter {
public:
    explicit BusWriter(DBusMessage* message) { dbus_message_iter_init_append(message, &at_); }
    BusWriter(BusWriter& outer, int kind, const char* contents) : outer_(&outer) {
        dbus_message_iter_open_container(&outer.at_, kind, contents, &at_);
    }
    ~BusWriter() {
        if (outer_ != nullptr) dbus_message_iter_close_container(&outer_->at_, &at_);
    }
    BusWriter(const BusWriter&) = delete;
    BusWriter& operator=(const BusWriter&) = delete;

    /// libdbus aborts on invalid UTF-8, which file names may contain.
    void text(const std::string& value) {
        const char* bytes = dbus_validate_utf8(value.c_str(), nullptr) == FALSE ? "" : value.c_str();
        dbus_message_iter_append_basic(&at_, DBUS_TYPE_STRING, &bytes);
    }
    void number(std::uint32_t value) { dbus_message_iter_append_basic(&at_, DBUS_TYPE_UINT32, &value); }
    void yes() {
        const dbus_bool_t value = TRUE;
        dbus_message_iter_append_basic(&at_, DBUS_TYPE_BOOLEAN, &value);
    }
    /// Null-terminated, as the portal expects paths.
    void bytes(const std::string& value) {
        BusWriter array(*this, DBUS_TYPE_ARRAY, DBUS_TYPE_BYTE_AS_STRING);
        const char* begin = value.c_str();
        dbus_message_iter_append_fixed_array(&array.at_, DBUS_TYPE_BYTE, &begin, static_cast<int>(value.size()) + 1);
    }

private:
    DBusMessageIter at_{};
    BusWriter* outer_ = nullptr;
};

/// Appends one entry of an a{sv} dictionary; `write` writes the variant's contents.
template <class Write>
void option(BusWriter& options, const char* name, const char* type, Write write) {
    BusWriter entry(options, DBUS_TYPE_DICT_ENTRY, nullptr);
    entry.text(name);
    BusWriter value(entry, DBUS_TYPE_VARIANT, type);
    write(value);
}

void write_filter(BusWriter& to, const DesktopFilter& filter) {
    BusWriter pair(to, DBUS_TYPE_STRUCT, nullptr);
    pair.text(filter.name);
    BusWriter patterns(pair, DBUS_TYPE_ARRAY, "(us)");
    for (const std::string& pattern : filter.patterns) {
        BusWriter one(patterns, DBUS_TYPE_STRUCT, nullptr);
        one.number(0);  // match by name pattern, not by MIME type
        one.text(pattern);
    }
}

void write_options(BusWriter& options, const DesktopQuestion& question) {
    option(options, "handle_token", "s", [](BusWriter& to) { to.text(kToken); });
    option(options, "modal", "b", [](BusWriter& to) { to.yes(); });
    option(options, "accept_label", "s", [&](BusWriter& to) { to.text(question.accept); });
    if (question.what == DesktopQuestion::What::OpenFolder) option(options, "directory", "b", [](BusWriter& to) { to.yes(); });
    if (question.what == DesktopQuestion::What::SaveFile)
        option(options, "current_name", "s", [&](BusWriter& to) { to.text(question.name); });
    if (!question.folder.empty()) option(options, "current_folder", "ay", [&](BusWriter& to) { to.bytes(question.folder); });
    if (question.filters.empty()) return;
    option(options, "filters", "a(sa(us))", [&](BusWriter& to) {
        BusWriter filters(to, DBUS_TYPE_ARRAY, "(sa(us))");
        for (const DesktopFilter& filter : question.filters) write_filter(filters, filter);
    });
    option(options, "current_filter", "(sa(us))", [&](BusWriter& to) { write_filter(to, question.filters.at(question.filter)); });
}

BusMessage method(const char* interface, const char* name, const char* object = kObject) {
    return bus_method(kService, object, interface, name);
}

BusMessage question_message(const DesktopQuestion& question) {
    BusMessage message = method(kDialogs, question.what == DesktopQuestion::What::SaveFile ? "SaveFile" : "OpenFile");
    BusWriter arguments(message.get());
    arguments.text("");  // no parent window
    arguments.text(question.title);
    BusWriter options(arguments, DBUS_TYPE_ARRAY, "{sv}");
    write_options(options, question);
    return message;
}

/// The first element of the array `uris` in an a{sv} dictionary.
std::optional<std::string> first_uri(DBusMessageIter results) {
    DBusMessageIter entries;
    if (dbus_message_iter_get_arg_type(&results) != DBUS_TYPE_ARRAY) return std::nullopt;
    for (dbus_message_iter_recurse(&results, &entries); dbus_message_iter_get_arg_type(&entries) == DBUS_TYPE_DICT_ENTRY;
         dbus_message_iter_next(&entries)) {
        DBusMessageIter entry, value, texts;
        dbus_message_iter_recurse(&entries, &entry);
        const char* name = nullptr;
        if (dbus_message_iter_get_arg_type(&entry) != DBUS_TYPE_STRING) return std::nullopt;
        dbus_message_iter_get_basic(&entry, &name);
        if (std::string_view(name) != "uris") continue;
        dbus_message_iter_next(&entry);
        dbus_message_iter_recurse(&entry, &value);
        if (dbus_message_iter_get_arg_type(&value) != DBUS_TYPE_ARRAY) return std::nullopt;
        dbus_message_iter_recurse(&value, &texts);
        if (dbus_message_iter_get_arg_type(&texts) != DBUS_TYPE_STRING) return std::nullopt;
        const char* text = nullptr;
        dbus_message_iter_get_basic(&texts, &text);
        return text;
    }
    return std::nullopt;
}

DesktopAnswer failed(std::string why) { return {DesktopAnswer::Outcome::Failed, {}, std::move(why)}; }

/// Parses the Response signal (u, a{sv}): 0 chosen, 1 cancelled, 2 ended in some other way.
DesktopAnswer answer_of(DBusMessage* response) {
    DBusMessageIter arguments;
    std::uint32_t code = 2;
    if (dbus_message_iter_init(response, &arguments) == FALSE || dbus_message_iter_get_arg_type(&arguments) != DBUS_TYPE_UINT32)
        return failed("its answer cannot be read");
    dbus_message_iter_get_basic(&arguments, &code);
    if (code == 1) return {};
    if (code != 0) return failed("it was closed without an answer");
    dbus_message_iter_next(&arguments);
    const std::optional<std::string> uri = first_uri(arguments);
    if (!uri) return failed("its answer names no file");
    const std::optional<std::filesystem::path> path = path_of_uri(*uri);
    if (!path) return failed("what it names is not a file on this machine");
    return {DesktopAnswer::Outcome::Chosen, *path, ""};
}

std::string text_argument(DBusMessage* message, int type) {
    const char* text = nullptr;
    if (dbus_message_get_args(message, nullptr, type, &text, DBUS_TYPE_INVALID) == FALSE) throw PlatformError("its answer cannot be read");
    return text;
}

/// Whether the portal has left the bus and its dialog is gone with it.
bool portal_is_gone(DBusMessage* signal) {
    const char *name = nullptr, *before = nullptr, *now = nullptr;
    return dbus_message_is_signal(signal, DBUS_INTERFACE_DBUS, "NameOwnerChanged") != FALSE &&
           dbus_message_get_args(signal, nullptr, DBUS_TYPE_STRING, &name, DBUS_TYPE_STRING, &before, DBUS_TYPE_STRING, &now,
                                 DBUS_TYPE_INVALID) != FALSE &&
           std::string_view(name) == kService && *before != '\0';
}

DesktopAnswer wait_for_response(SessionBus& bus, const std::string& portal, const std::string& request) {
    while (const BusMessage signal = bus.next_signal()) {
        const char* sender = dbus_message_get_sender(signal.get());
        // Check the sender, since anyone on the bus could send such a signal.
        const bool is_response = dbus_message_is_signal(signal.get(), kRequest, "Response") != FALSE && sender != nullptr &&
                                 sender == portal && dbus_message_has_path(signal.get(), request.c_str()) != FALSE;
        if (is_response) return answer_of(signal.get());
        if (portal_is_gone(signal.get())) return failed("it has quit");
    }
    bus.send(method(kRequest, "Close", request.c_str()));
    return {};
}

}  // namespace

unsigned portal_version(const PortalCall& call) try {
    const auto deadline = BusClock::now() + call.patience;
    SessionBus bus(call.address, call.given_up, deadline);
    BusMessage question = method(DBUS_INTERFACE_PROPERTIES, "Get");
    const char *interface = kDialogs, *property = "version";
    dbus_message_append_args(question.get(), DBUS_TYPE_STRING, &interface, DBUS_TYPE_STRING, &property, DBUS_TYPE_INVALID);
    const BusMessage answer = bus.call(std::move(question), deadline);
    DBusMessageIter argument, value;
    std::uint32_t version = 0;
    if (dbus_message_iter_init(answer.get(), &argument) == FALSE || dbus_message_iter_get_arg_type(&argument) != DBUS_TYPE_VARIANT)
        return 0;
    dbus_message_iter_recurse(&argument, &value);
    if (dbus_message_iter_get_arg_type(&value) == DBUS_TYPE_UINT32) dbus_message_iter_get_basic(&value, &version);
    return version;
} catch (const PlatformError&) {
    return 0;
}

DesktopAnswer ask_portal(const PortalCall& call, const DesktopQuestion& question) try {
    const auto deadline = BusClock::now() + call.patience;
    SessionBus bus(call.address, call.given_up, deadline);
    // Subscribe before the call, because the response may come immediately.
    bus.receive(std::string("type='signal',interface='") + kRequest + "',member='Response'");
    bus.receive(std::string("type='signal',sender='") + DBUS_SERVICE_DBUS + "',member='NameOwnerChanged',arg0='" + kService + "'");
    const BusMessage heard = bus.call(question_message(question), deadline);
    return wait_for_response(bus, dbus_message_get_sender(heard.get()), text_argument(heard.get(), DBUS_TYPE_OBJECT_PATH));
} catch (const PlatformError& error) {
    return call.given_up() ? DesktopAnswer{} : failed(error.what());
}

}  // namespace attn::app
