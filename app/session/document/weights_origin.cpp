#include "app/session/document/weights_origin.hpp"

#include <fmt/format.h>

#include "app/session/document/named_runs.hpp"

namespace attn::app {

WeightsOrigin weights_origin(const Document& document) {
    if (document.trained && is_missing(document.trained->run))
        return {.learned = false, .text = "run not found", .parameters = "", .missing = true};
    if (document.recorded) return {true, "recorded", ""};
    if (document.trained) return {true, "trained here", ""};
    if (document.model != nullptr) return {true, "opened model", ""};
    if (document.shipped == nullptr) return {false, "random weights", ""};
    const double count = static_cast<double>(document.shipped->checkpoint.parameters->count());
    return {true, "trained", fmt::format("{:.{}f} M parameters", count / 1e6, count < 95'000 ? 2 : 1)};
}

}  // namespace attn::app
