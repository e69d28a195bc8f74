#pragma once
/// Helpers shared by the readers of tokenizer.json's components.

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/io/json_object.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/regex.hpp"
#include "engine/tokenizer/vocabulary.hpp"

namespace attn {

/// The field as a string; throws FileError if it is missing.
std::string required_text(JsonObject& json, std::string_view key);

/// A component that can be told without its "type", as in files of older versions: by these fields, all of which it has.
struct ImpliedType {
    std::string_view type;
    std::vector<std::string_view> fields;
};
/// The field "type", or else the first of `implied` whose fields are all there, as in the tokenizers library. Throws FileError for neither.
std::string component_type(JsonObject& json, std::span<const ImpliedType> implied);

/// "pattern": {"String": ...} or {"Regex": ...}.
TextPattern read_pattern(JsonObject& json);
/// {"text": id, ...}
Vocabulary read_vocabulary(JsonObject& json, std::string_view key);
/// Throws FileError: there is no component of this type.
[[noreturn]] void refuse_type(JsonObject& json, std::string_view kind, std::string_view type);

/// Runs `make` and turns a ConfigError into a FileError about the field.
template <class Make>
auto at_field(const JsonObject& json, std::string_view key, Make&& make) {
    try {
        return make();
    } catch (const ConfigError& error) {
        json.fail(key, error.what(), FileFault::Unsupported);
    }
}

/// The steps of a component: one, or those of a "Sequence" whose list is under the key `list`, nested to any depth.
template <class Step, class Read>
std::vector<Step> read_steps(JsonObject component, std::string_view list, std::span<const ImpliedType> implied, const Read& read) {
    std::vector<Step> steps;
    const std::string type = component_type(component, implied);
    if (type == "Sequence") {
        constexpr std::size_t kMostSteps = 256;  // every step passes over the whole text
        for (JsonObject& part : component.objects(list)) {
            for (Step& step : read_steps<Step>(std::move(part), list, implied, read)) steps.push_back(std::move(step));
            if (steps.size() > kMostSteps) component.fail(list, fmt::format("has more than {} entries", kMostSteps), FileFault::Limit);
        }
    } else {
        steps.push_back(read(type, component));
    }
    component.expect_no_more();
    return steps;
}

}  // namespace attn
