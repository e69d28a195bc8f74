#include "engine/io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "engine/io/file_error.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json_text_check.hpp"

namespace attn {
namespace {

[[noreturn]] void refuse_json(std::string_view source, std::size_t position, const nlohmann::detail::exception& error) {
    if (dynamic_cast<const nlohmann::json::out_of_range*>(&error) != nullptr)
        throw FileError(FileFault::Range, source, fmt::format("byte {}", position), "a number is too large for JSON");
    throw FileError(FileFault::Format, source, fmt::format("byte {}", position), "is not valid JSON");
}

/// Builds nothing.
class JsonSyntax final : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit JsonSyntax(std::string_view source) : source_(source) {}
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return false; }  // JSON text has no binary values
    bool start_object(std::size_t) override { return true; }
    bool key(string_t&) override { return true; }
    bool end_object() override { return true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
        refuse_json(source_, position, error);
    }

private:
    std::string_view source_;
};

/// Builds the values that nlohmann's parser reports.
class JsonBuilder final : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit JsonBuilder(std::string_view source) : source_(source) {}
    Json root;

    bool null() override { return add(Json()); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(value); }
    bool number_unsigned(number_unsigned_t value) override { return add(value); }
    bool number_float(number_float_t value, const string_t&) override { return add(value); }
    bool string(string_t& value) override { return add(std::move(value)); }
    bool binary(binary_t&) override { return false; }  // JSON text has no binary values
    bool start_object(std::size_t) override { return open(Json::object()); }
    bool key(string_t& value) override {
        open_.back()->members().emplace_back(std::move(value), Json());
        return true;
    }
    bool end_object() override {
        require_different_names(open_.back()->members());
        open_.pop_back();
        return true;
    }
    bool start_array(std::size_t) override { return open(Json::list()); }
    bool end_array() override {
        open_.pop_back();
        return true;
    }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
        refuse_json(source_, position, error);
    }

private:
    /// Puts the value where it belongs. Pointers in open_ stay valid, because a container is not moved while it is open.
    Json& place(Json value) {
        if (open_.empty()) return root = std::move(value);
        Json& parent = *open_.back();
        if (parent.is_object()) return parent.members().back().second = std::move(value);
        return parent.items().emplace_back(std::move(value));
    }
    bool add(Json value) {
        place(std::move(value));
        return true;
    }
    bool open(Json value) {
        open_.push_back(&place(std::move(value)));
        return true;
    }
    void require_different_names(const Json::Members& members) const {
        std::vector<std::string_view> names;
        names.reserve(members.size());
        for (const Json::Member& member : members) names.push_back(member.first);
        std::sort(names.begin(), names.end());
        const auto twice = std::adjacent_find(names.begin(), names.end());
        if (twice != names.end())
            throw FileError(FileFault::Duplicate, source_, "", fmt::format("the field \"{}\" is given twice", escaped(*twice)));
    }

    std::string_view source_;
    std::vector<Json*> open_;  ///< open lists and objects, outermost first
};

/// Formats a number or string with the library; these values own nothing else.
std::string leaf(const nlohmann::json& value, Json::InvalidUtf8 stray) {
    using Handler = nlohmann::json::error_handler_t;
    try {
        return value.dump(-1, ' ', false, stray == Json::InvalidUtf8::Replace ? Handler::replace : Handler::strict);
    } catch (const nlohmann::json::type_error&) {
        throw Error("a string that is not UTF-8 cannot be written as JSON");
    }
}

class JsonWriter {
public:
    JsonWriter(int indent, Json::InvalidUtf8 stray) : indent_(indent), stray_(stray) {}
    std::string out;

    void write(const Json& value) {
        if (value.is_null()) out += "null";
        else if (value.is_boolean()) out += value.boolean() ? "true" : "false";
        else if (value.is_unsigned()) out += std::to_string(value.as_unsigned());
        else if (value.is_signed()) out += std::to_string(value.as_signed());
        else if (value.is_number()) out += leaf(value.number(), stray_);
        else if (value.is_string()) out += leaf(value.text(), stray_);
        else write_container(value);
    }

private:
    void write_container(const Json& value) {
        const bool object = value.is_object();
        out += object ? '{' : '[';
        ++depth_;
        for (std::size_t i = 0; i < value.size(); ++i) {
            if (i != 0) out += ',';
            new_line();
            if (object) out += leaf(value.members()[i].first, stray_) + (indent_ < 0 ? ":" : ": ");
            write(object ? value.members()[i].second : value.items()[i]);
        }
        --depth_;
        if (!value.empty()) new_line();
        out += object ? '}' : ']';
    }
    void new_line() {
        if (indent_ < 0) return;
        out += '\n';
        out.append(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth_), ' ');
    }

    int indent_, depth_ = 0;
    Json::InvalidUtf8 stray_;
};

bool is_member(const Json& item) { return item.is_list() && item.size() == 2 && item.items().front().is_string(); }

}  // namespace

// Not defaulted: if an allocation fails, the copy constructor of libstdc++ 12's variant destroys a value that was never constructed.
Json::Json(const Json& other) {
    std::visit(
        [this](const auto& value) {
            auto copy = value;
            value_ = std::move(copy);
        },
        other.value_);
}

Json::Json(std::initializer_list<Json> items) {
    if (!std::all_of(items.begin(), items.end(), is_member)) {
        value_ = List(items);
        return;
    }
    Members members;
    members.reserve(items.size());
    for (const Json& item : items) members.emplace_back(item.items()[0].text(), item.items()[1]);
    value_ = std::move(members);
}

Json Json::parse(std::string_view text, std::string_view source, const JsonLimits& limits) {
    if (text.size() > limits.bytes)
        throw FileError(FileFault::Limit, source, "", fmt::format("{} bytes of JSON; at most {} are read", text.size(), limits.bytes));
    JsonTextCheck(source, 0, {.values = limits.values}).add(text);
    JsonBuilder builder(source);
    nlohmann::json::sax_parse(text, &builder);  // the builder throws every error
    return std::move(builder.root);
}

void Json::drop_null_members() {
    if (is_object()) {
        std::erase_if(members(), [](const Member& member) { return member.second.is_null(); });
        for (Member& member : members()) member.second.drop_null_members();
    } else if (is_list()) {
        for (Json& item : items()) item.drop_null_members();
    }
}

double Json::number() const {
    if (is_unsigned()) return static_cast<double>(as_unsigned());
    if (is_signed()) return static_cast<double>(as_signed());
    return std::get<double>(value_);
}

const Json* Json::find(std::string_view key) const {
    for (const Member& member : members())
        if (member.first == key) return &member.second;
    return nullptr;
}

Json& Json::operator[](std::string_view key) {
    if (is_null()) value_ = Members();
    for (Member& member : members())
        if (member.first == key) return member.second;
    return members().emplace_back(std::string(key), Json()).second;
}

void Json::push_back(Json item) {
    if (is_null()) value_ = List();
    items().push_back(std::move(item));
}

std::size_t Json::size() const { return is_object() ? members().size() : items().size(); }

std::string Json::dump(int indent, InvalidUtf8 stray) const {
    JsonWriter writer(indent, stray);
    writer.write(*this);
    return std::move(writer.out);
}

void check_json_text(std::string_view text, std::string_view source, std::uint64_t first_byte) {
    JsonTextCheck(source, first_byte).add(text);
}

void check_json_file(const std::filesystem::path& path, std::uint64_t max_bytes, JsonTextLimits limits) {
    constexpr std::uint64_t kPiece = std::uint64_t{64} << 10;
    InputFile file(path, {.max_bytes = ~std::uint64_t{0}, .stop = {}});
    if (file.size() > max_bytes)
        throw FileError(FileFault::Limit, file.name(), "", fmt::format("holds {} bytes; at most {} are read", file.size(), max_bytes));
    JsonTextCheck check(file.name(), 0, limits);
    std::string piece;
    while (file.remaining() > 0) {
        piece.resize(static_cast<std::size_t>(std::min(kPiece, file.remaining())));
        file.read(std::as_writable_bytes(std::span(piece)));
        check.add(piece);
    }
    std::ifstream stream(path, std::ios::binary);
    JsonSyntax syntax(file.name());
    nlohmann::json::sax_parse(stream, &syntax);
}

}  // namespace attn
