#include "engine/io/json_object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/io/file_error.hpp"

namespace attn {
namespace {

constexpr std::size_t kLongestPlace = 200;  ///< characters of a JSON pointer shown in a message

/// A JSON value in a few words, for "expected ..., found ...".
std::string shown(const Json& value) {
    if (value.is_object()) return "an object";
    if (value.is_list()) return "a list";
    // Only GGUF metadata contains such numbers; dump() would print null.
    if (value.is_number() && !std::isfinite(value.number())) return fmt::format("{}", value.number());
    return escaped(value.dump(-1, Json::InvalidUtf8::Replace));
}

[[noreturn]] void fail_at(FileFault fault, std::string_view source, std::string_view pointer, std::string_view expected,
                          const Json& found) {
    throw FileError(fault, source, escaped(pointer, kLongestPlace), fmt::format("expected {}, found {}", expected, shown(found)));
}

template <class Integer>
void read_integer(const Json& value, std::string_view source, std::string_view pointer, Integer min, Integer max, Integer& out) {
    const std::string expected = fmt::format("an integer from {} to {}", min, max);
    if (!value.is_number()) fail_at(FileFault::Format, source, pointer, expected, value);
    const auto take = [&](auto number) {
        if (std::cmp_less(number, min) || std::cmp_greater(number, max)) fail_at(FileFault::Range, source, pointer, expected, value);
        out = static_cast<Integer>(number);
    };
    if (value.is_unsigned()) take(value.as_unsigned());
    else if (value.is_signed()) take(value.as_signed());
    else fail_at(FileFault::Range, source, pointer, expected, value);
}

double number_at(const Json& value, const std::string& source, const std::string& place, double min, double max) {
    const std::string expected = fmt::format("a number from {} to {}", min, max);
    if (!value.is_number()) fail_at(FileFault::Format, source, place, expected, value);
    const double number = value.number();
    if (!(number >= min && number <= max)) fail_at(FileFault::Range, source, place, expected, value);
    return number;
}

}  // namespace

JsonObject::JsonObject(std::string_view text, std::string_view source) : JsonObject(of(Json::parse(text, source), source)) {}

JsonObject JsonObject::of(Json value, std::string_view source) {
    auto root = std::make_shared<const Json>(std::move(value));
    const Json* object = root.get();
    if (!object->is_object()) fail_at(FileFault::Format, source, "/", "an object", *object);
    return {std::move(root), object, std::string(source), ""};
}

JsonObject::JsonObject(std::shared_ptr<const Json> root, const Json* object, std::string source, std::string pointer)
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

const Json* JsonObject::take(std::string_view key) {
    asked_.emplace(key);
    return object_->find(key);
}

bool JsonObject::has(std::string_view key) const { return object_->find(key) != nullptr; }

bool JsonObject::read(std::string_view key, bool& value) {
    const Json* found = take(key);
    if (found == nullptr) return false;
    if (!found->is_boolean()) fail_at(FileFault::Format, source_, pointer_to(key), "true or false", *found);
    value = found->boolean();
    return true;
}

bool JsonObject::read(std::string_view key, std::string& value) {
    const Json* found = take(key);
    if (found == nullptr) return false;
    if (!found->is_string()) fail_at(FileFault::Format, source_, pointer_to(key), "a string", *found);
    value = found->text();
    return true;
}

bool JsonObject::read(std::string_view key, std::vector<std::string>& value) {
    const Json* found = take(key);
    if (found == nullptr) return false;
    if (!found->is_list()) fail_at(FileFault::Format, source_, pointer_to(key), "a list of strings", *found);
    std::vector<std::string> texts;
    for (const Json& item : found->items()) {
        if (!item.is_string()) fail_at(FileFault::Format, source_, fmt::format("{}/{}", pointer_to(key), texts.size()), "a string", item);
        texts.push_back(item.text());
    }
    value = std::move(texts);
    return true;
}

bool JsonObject::read(std::string_view key, std::int64_t& value, std::int64_t min, std::int64_t max) {
    const Json* found = take(key);
    if (found != nullptr) read_integer(*found, source_, pointer_to(key), min, max, value);
    return found != nullptr;
}

bool JsonObject::read(std::string_view key, std::int32_t& value, std::int32_t min, std::int32_t max) {
    const Json* found = take(key);
    if (found != nullptr) read_integer(*found, source_, pointer_to(key), min, max, value);
    return found != nullptr;
}

bool JsonObject::read(std::string_view key, std::uint64_t& value) {
    const Json* found = take(key);
    if (found != nullptr) read_integer(*found, source_, pointer_to(key), std::uint64_t{0}, ~std::uint64_t{0}, value);
    return found != nullptr;
}

bool JsonObject::read(std::string_view key, double& value, double min, double max) {
    const Json* found = take(key);
    if (found == nullptr) return false;
    value = number_at(*found, source_, pointer_to(key), min, max);
    return true;
}

bool JsonObject::read(std::string_view key, std::vector<double>& value, double min, double max) {
    const Json* found = take(key);
    if (found == nullptr) return false;
    if (!found->is_list()) fail_at(FileFault::Format, source_, pointer_to(key), "a list of numbers", *found);
    std::vector<double> numbers;
    for (const Json& item : found->items())
        numbers.push_back(number_at(item, source_, fmt::format("{}/{}", pointer_to(key), numbers.size()), min, max));
    value = std::move(numbers);
    return true;
}

bool JsonObject::read(std::string_view key, std::vector<std::pair<std::int32_t, std::int32_t>>& value, std::int32_t min, std::int32_t max) {
    const Json* found = take(key);
    if (found == nullptr) return false;
    if (!found->is_list()) fail_at(FileFault::Format, source_, pointer_to(key), "a list of pairs", *found);
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (const Json& item : found->items()) {
        const std::string place = fmt::format("{}/{}", pointer_to(key), pairs.size());
        if (!item.is_list() || item.size() != 2) fail_at(FileFault::Format, source_, place, "a pair [a, b]", item);
        auto& [first, second] = pairs.emplace_back();
        read_integer(item.items()[0], source_, place + "/0", min, max, first);
        read_integer(item.items()[1], source_, place + "/1", min, max, second);
    }
    value = std::move(pairs);
    return true;
}

bool JsonObject::read_choice(std::string_view key, std::span<const std::string_view> names, std::size_t& index) {
    const Json* found = take(key);
    if (found == nullptr) return false;
    const std::string expected = fmt::format("one of {}", fmt::join(names.begin(), names.end(), ", "));
    if (!found->is_string()) fail_at(FileFault::Format, source_, pointer_to(key), expected, *found);
    const auto name = std::find(names.begin(), names.end(), found->text());
    if (name == names.end()) fail_at(FileFault::Range, source_, pointer_to(key), expected, *found);
    index = static_cast<std::size_t>(name - names.begin());
    return true;
}

JsonObject JsonObject::object(std::string_view key) {
    const Json* found = take(key);
    if (found == nullptr) fail_missing(key);
    return {root_, found, source_, pointer_to(key)};
}

std::optional<JsonObject> JsonObject::optional_object(std::string_view key) {
    const Json* found = take(key);
    if (found == nullptr) return std::nullopt;
    return JsonObject(root_, found, source_, pointer_to(key));
}

std::vector<JsonObject> JsonObject::objects(std::string_view key) {
    const Json* found = take(key);
    std::vector<JsonObject> out;
    if (found == nullptr) return out;
    if (!found->is_list()) fail_at(FileFault::Format, source_, pointer_to(key), "a list of objects", *found);
    for (const Json& item : found->items())
        out.push_back(JsonObject(root_, &item, source_, fmt::format("{}/{}", pointer_to(key), out.size())));
    return out;
}

std::vector<std::string> JsonObject::unread() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : object_->members())
        if (!asked_.contains(key)) keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    return keys;
}

void JsonObject::expect_no_more() const {
    for (const auto& [key, value] : object_->members()) {
        if (asked_.contains(key)) continue;
        throw FileError(FileFault::Schema, source_, escaped(pointer_to(key), kLongestPlace),
                        fmt::format("there is no such field; expected one of {}", fmt::join(asked_.begin(), asked_.end(), ", ")));
    }
}

void JsonObject::fail_missing(std::string_view key) const {
    throw FileError(FileFault::Schema, source_, escaped(pointer_to(key), kLongestPlace), "this field is missing");
}

void JsonObject::fail(std::string_view key, std::string_view problem, FileFault fault) const {
    throw FileError(fault, source_, escaped(pointer_to(key), kLongestPlace), problem);
}

}  // namespace attn
