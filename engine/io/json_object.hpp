#pragma once
/// Strict JSON for small files written by users or by this program: every field must be known and have the right type and range.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/file_error.hpp"
#include "engine/io/json.hpp"

namespace attn {

/// An object in a JSON text. Each read function takes a field if it is present and returns whether it was; a wrong type or range throws
/// FileError(Format or Range) naming the source and the JSON pointer. expect_no_more() rejects fields that were never asked for.
class JsonObject {
public:
    /// Parses a text whose top level must be an object. Throws FileError like Json::parse(), and Format for anything but an object.
    JsonObject(std::string_view text, std::string_view source);
    /// The same for a parsed value.
    static JsonObject of(Json value, std::string_view source);

    bool has(std::string_view key) const;
    /// The value; null if the field is missing.
    const Json* value(std::string_view key) { return take(key); }
    const Json& whole() const { return *object_; }
    bool read(std::string_view key, bool& value);
    bool read(std::string_view key, std::string& value);
    bool read(std::string_view key, std::vector<std::string>& value);
    /// Integers must be written without fraction or exponent.
    bool read(std::string_view key, std::int64_t& value, std::int64_t min, std::int64_t max);
    bool read(std::string_view key, std::int32_t& value, std::int32_t min, std::int32_t max);
    bool read(std::string_view key, std::uint64_t& value);
    bool read(std::string_view key, double& value, double min, double max);
    bool read(std::string_view key, std::vector<double>& value, double min, double max);
    /// A list of pairs [a, b] of integers in min..max.
    bool read(std::string_view key, std::vector<std::pair<std::int32_t, std::int32_t>>& value, std::int32_t min, std::int32_t max);
    /// One of `names`; `index` becomes its index.
    bool read_choice(std::string_view key, std::span<const std::string_view> names, std::size_t& index);
    /// The object under `key`; throws FileError(Schema) if it is missing.
    JsonObject object(std::string_view key);
    /// The object under `key`, if present.
    std::optional<JsonObject> optional_object(std::string_view key);
    /// The objects in the list under `key`; empty if it is missing.
    std::vector<JsonObject> objects(std::string_view key);

    /// The fields that were never asked for, in alphabetical order.
    std::vector<std::string> unread() const;
    /// Throws FileError(Schema) if a field was never asked for, naming it and the known fields.
    void expect_no_more() const;
    /// Throws FileError(Schema) for a missing required field.
    [[noreturn]] void fail_missing(std::string_view key) const;
    /// Throws FileError about a field whose value the caller rejects.
    [[noreturn]] void fail(std::string_view key, std::string_view problem, FileFault fault = FileFault::Range) const;

private:
    JsonObject(std::shared_ptr<const Json> root, const Json* object, std::string source, std::string pointer);
    const Json* take(std::string_view key);
    std::string pointer_to(std::string_view key) const;

    std::shared_ptr<const Json> root_;
    const Json* object_;
    std::string source_, pointer_;
    std::set<std::string, std::less<>> asked_;
};

}  // namespace attn
