#include "engine/io/json_object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/io/file_error.hpp"

namespace attn {
namespace {

using nlohmann::json;

/// A parser callback that refuses the second of two equal keys, which the parser itself would let win.
class DuplicateCheck {
public:
    explicit DuplicateCheck(std::string_view source) : source_(source) {}

    bool operator()(json::parse_event_t event, json& parsed) {
        if (event == json::parse_event_t::object_start) seen_.emplace_back();
        if (event == json::parse_event_t::object_end) seen_.pop_back();
        if (event == json::parse_event_t::key && !seen_.back().insert(parsed.get_ref<const std::string&>()).second)
            throw FileError(FileFault::Duplicate, source_, "",
                            fmt::format("the field \"{}\" is given twice", escaped(parsed.get<std::string>())));
        return true;
    }

private:
    std::string_view source_;
    std::vector<std::set<std::string>> seen_;
};

json parse_strictly(std::string_view text, std::string_view source) {
    if (text.size() > kMaxJsonBytes)
        throw FileError(FileFault::Limit, source, "", fmt::format("{} bytes of JSON; at most {} are read", text.size(), kMaxJsonBytes));
    check_json_text(text, source);
    DuplicateCheck duplicates(source);
    try {
        return json::parse(text, [&](int, json::parse_event_t event, json& parsed) { return duplicates(event, parsed); });
    } catch (const json::parse_error& error) {
        throw FileError(FileFault::Format, source, fmt::format("byte {}", error.byte), "is not valid JSON");
    } catch (const json::out_of_range&) {
        throw FileError(FileFault::Range, source, "", "a number is too large for JSON");
    }
}

/// A JSON value in few words, for "expected ..., found ...".
std::string shown(const json& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "a list";
    return escaped(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

[[noreturn]] void fail_at(FileFault fault, std::string_view source, std::string_view pointer, std::string_view expected,
                          const json& found) {
    throw FileError(fault, source, escaped(pointer, 0), fmt::format("expected {}, found {}", expected, shown(found)));
}

template <class Integer>
void read_integer(const json& value, std::string_view source, std::string_view pointer, Integer min, Integer max, Integer& out) {
    const std::string expected = fmt::format("an integer from {} to {}", min, max);
    if (!value.is_number()) fail_at(FileFault::Format, source, pointer, expected, value);
    bool inside = false;
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        inside = std::cmp_greater_equal(number, min) && std::cmp_less_equal(number, max);
    } else if (value.is_number_integer()) {
        const auto number = value.get<std::int64_t>();
        inside = std::cmp_greater_equal(number, min) && std::cmp_less_equal(number, max);
    }
    if (!inside) fail_at(FileFault::Range, source, pointer, expected, value);
    out = value.get<Integer>();
}

double number_at(const json& value, const std::string& source, const std::string& place, double min, double max) {
    const std::string expected = fmt::format("a number from {} to {}", min, max);
    if (!value.is_number()) fail_at(FileFault::Format, source, place, expected, value);
    const double number = value.get<double>();
    if (!(number >= min && number <= max)) fail_at(FileFault::Range, source, place, expected, value);
    return number;
}

}  // namespace

void check_json_text(std::string_view text, std::string_view source, std::uint64_t first_byte) {
    const auto refuse = [&](FileFault fault, std::size_t at, std::string_view problem) {
        return FileError(fault, source, fmt::format("byte {}", first_byte + at), problem);
    };
    // The parser skips a byte order mark and takes a NUL byte for the end of the text: either could hide something.
    if (text.starts_with("\xEF\xBB\xBF")) throw refuse(FileFault::Format, 0, "a byte order mark before the JSON text");
    if (const std::size_t at = text.find('\0'); at != std::string_view::npos)
        throw refuse(FileFault::Format, at, "a NUL byte in the JSON text");
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > kMaxJsonDepth) throw refuse(FileFault::Limit, i, fmt::format("more than {} nested brackets", kMaxJsonDepth));
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
}

JsonObject::JsonObject(std::string_view text, std::string_view source)
    : root_(std::make_shared<const json>(parse_strictly(text, source))), object_(root_.get()), source_(source) {
    if (!object_->is_object()) fail_at(FileFault::Format, source_, "/", "an object", *object_);
}

JsonObject::JsonObject(std::shared_ptr<const json> root, const json* object, std::string source, std::string pointer)
    : root_(std::move(root)), object_(object), source_(std::move(source)), pointer_(std::move(pointer)) {
    if (!object_->is_object()) fail_at(FileFault::Format, source_, pointer_, "an object", *object_);
}

std::string JsonObject::pointer_to(std::string_view key) const {
    std::string out = pointer_ + "/";
    for (const char c : key) {  // RFC 6901
        if (c == '~') out += "~0";
        else if (c == '/') out += "~1";
        else out += c;
    }
    return out;
}

const json* JsonObject::take(std::string_view key) {
    asked_.emplace(key);
    const auto found = object_->find(std::string(key));
    return found == object_->end() ? nullptr : &*found;
}

bool JsonObject::has(std::string_view key) const { return object_->contains(std::string(key)); }

bool JsonObject::read(std::string_view key, bool& value) {
    const json* found = take(key);
    if (found == nullptr) return false;
    if (!found->is_boolean()) fail_at(FileFault::Format, source_, pointer_to(key), "true or false", *found);
    value = found->get<bool>();
    return true;
}

bool JsonObject::read(std::string_view key, std::string& value) {
    const json* found = take(key);
    if (found == nullptr) return false;
    if (!found->is_string()) fail_at(FileFault::Format, source_, pointer_to(key), "a text in quotes", *found);
    value = found->get<std::string>();
    return true;
}

bool JsonObject::read(std::string_view key, std::vector<std::string>& value) {
    const json* found = take(key);
    if (found == nullptr) return false;
    if (!found->is_array()) fail_at(FileFault::Format, source_, pointer_to(key), "a list of texts", *found);
    std::vector<std::string> texts;
    for (const json& item : *found) {
        if (!item.is_string())
            fail_at(FileFault::Format, source_, fmt::format("{}/{}", pointer_to(key), texts.size()), "a text in quotes", item);
        texts.push_back(item.get<std::string>());
    }
    value = std::move(texts);
    return true;
}

bool JsonObject::read(std::string_view key, std::int64_t& value, std::int64_t min, std::int64_t max) {
    const json* found = take(key);
    if (found != nullptr) read_integer(*found, source_, pointer_to(key), min, max, value);
    return found != nullptr;
}

bool JsonObject::read(std::string_view key, std::int32_t& value, std::int32_t min, std::int32_t max) {
    const json* found = take(key);
    if (found != nullptr) read_integer(*found, source_, pointer_to(key), min, max, value);
    return found != nullptr;
}

bool JsonObject::read(std::string_view key, std::uint64_t& value) {
    const json* found = take(key);
    if (found != nullptr) read_integer(*found, source_, pointer_to(key), std::uint64_t{0}, ~std::uint64_t{0}, value);
    return found != nullptr;
}

bool JsonObject::read(std::string_view key, double& value, double min, double max) {
    const json* found = take(key);
    if (found == nullptr) return false;
    value = number_at(*found, source_, pointer_to(key), min, max);
    return true;
}

bool JsonObject::read(std::string_view key, std::vector<double>& value, double min, double max) {
    const json* found = take(key);
    if (found == nullptr) return false;
    if (!found->is_array()) fail_at(FileFault::Format, source_, pointer_to(key), "a list of numbers", *found);
    std::vector<double> numbers;
    for (const json& item : *found)
        numbers.push_back(number_at(item, source_, fmt::format("{}/{}", pointer_to(key), numbers.size()), min, max));
    value = std::move(numbers);
    return true;
}

bool JsonObject::read(std::string_view key, std::vector<std::pair<std::int32_t, std::int32_t>>& value, std::int32_t min, std::int32_t max) {
    const json* found = take(key);
    if (found == nullptr) return false;
    if (!found->is_array()) fail_at(FileFault::Format, source_, pointer_to(key), "a list of pairs", *found);
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (const json& item : *found) {
        const std::string place = fmt::format("{}/{}", pointer_to(key), pairs.size());
        if (!item.is_array() || item.size() != 2) fail_at(FileFault::Format, source_, place, "a pair [a, b]", item);
        auto& [first, second] = pairs.emplace_back();
        read_integer(item[0], source_, place + "/0", min, max, first);
        read_integer(item[1], source_, place + "/1", min, max, second);
    }
    value = std::move(pairs);
    return true;
}

bool JsonObject::read_choice(std::string_view key, std::span<const std::string_view> names, std::size_t& index) {
    const json* found = take(key);
    if (found == nullptr) return false;
    const std::string expected = fmt::format("one of {}", fmt::join(names.begin(), names.end(), ", "));
    if (!found->is_string()) fail_at(FileFault::Format, source_, pointer_to(key), expected, *found);
    const auto name = std::find(names.begin(), names.end(), found->get_ref<const std::string&>());
    if (name == names.end()) fail_at(FileFault::Range, source_, pointer_to(key), expected, *found);
    index = static_cast<std::size_t>(name - names.begin());
    return true;
}

JsonObject JsonObject::object(std::string_view key) {
    const json* found = take(key);
    if (found == nullptr) fail_missing(key);
    return {root_, found, source_, pointer_to(key)};
}

std::optional<JsonObject> JsonObject::optional_object(std::string_view key) {
    const json* found = take(key);
    if (found == nullptr) return std::nullopt;
    return JsonObject(root_, found, source_, pointer_to(key));
}

std::vector<JsonObject> JsonObject::objects(std::string_view key) {
    const json* found = take(key);
    std::vector<JsonObject> out;
    if (found == nullptr) return out;
    if (!found->is_array()) fail_at(FileFault::Format, source_, pointer_to(key), "a list of objects", *found);
    for (const json& item : *found) out.push_back(JsonObject(root_, &item, source_, fmt::format("{}/{}", pointer_to(key), out.size())));
    return out;
}

void JsonObject::expect_no_more() const {
    for (const auto& [key, value] : object_->items()) {
        if (asked_.contains(key)) continue;
        throw FileError(FileFault::Schema, source_, escaped(pointer_to(key), 0),
                        fmt::format("there is no such field; the fields are {}", fmt::join(asked_.begin(), asked_.end(), ", ")));
    }
}

void JsonObject::fail_missing(std::string_view key) const {
    throw FileError(FileFault::Schema, source_, escaped(pointer_to(key), 0), "this field is missing");
}

void JsonObject::fail(std::string_view key, std::string_view problem) const {
    throw FileError(FileFault::Range, source_, escaped(pointer_to(key), 0), problem);
}

}  // namespace attn
