#pragma once
/// Strict JSON for small files written by people or by this program: every field is known, has its type and its range.

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

/// One object of a JSON text. Each read_ function takes a field if it is there and returns whether it was; a wrong type or range is
/// FileError(Format or Range) naming the source and the JSON pointer. expect_no_more() refuses the fields nobody asked for.
class JsonObject {
public:
    /// Parses a text whose top level is an object. Throws FileError as Json::parse() does, and Format for anything but an object.
    JsonObject(std::string_view text, std::string_view source);
    /// The same of a value that is parsed already.
    static JsonObject of(Json value, std::string_view source);

    bool has(std::string_view key) const;
    /// The value as it is; null when there is none.
    const Json* value(std::string_view key) { return take(key); }
    const Json& whole() const { return *object_; }
    bool read(std::string_view key, bool& value);
    bool read(std::string_view key, std::string& value);
    bool read(std::string_view key, std::vector<std::string>& value);
    /// Integers are written without fraction or exponent.
    bool read(std::string_view key, std::int64_t& value, std::int64_t min, std::int64_t max);
    bool read(std::string_view key, std::int32_t& value, std::int32_t min, std::int32_t max);
    bool read(std::string_view key, std::uint64_t& value);
    bool read(std::string_view key, double& value, double min, double max);
    bool read(std::string_view key, std::vector<double>& value, double min, double max);
    /// A list of pairs [a, b] of integers in min..max.
    bool read(std::string_view key, std::vector<std::pair<std::int32_t, std::int32_t>>& value, std::int32_t min, std::int32_t max);
    /// One of `names`; `index` becomes its place.
    bool read_choice(std::string_view key, std::span<const std::string_view> names, std::size_t& index);
    /// The object under `key`; throws FileError(Schema) when it is missing.
    JsonObject object(std::string_view key);
    /// The object under `key`, if the field is there.
    std::optional<JsonObject> optional_object(std::string_view key);
    /// The objects of the list under `key`; none when it is missing.
    std::vector<JsonObject> objects(std::string_view key);

    /// Throws FileError(Schema) when a field was never asked for, naming it and the fields that there are.
    void expect_no_more() const;
    /// Throws FileError(Schema) for a field that must be there.
    [[noreturn]] void fail_missing(std::string_view key) const;
    /// Throws a FileError about a field whose value is impossible for a reason that only the caller knows.
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
