/// Arbitrary bytes as the JSON of a configuration and of forward settings: refused with an Error, or round-tripped without changes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "engine/plan/config_json.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/settings_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const attn::Config config = attn::config_from_json(text, "input");
        if (!(attn::config_from_json(attn::to_json(config).dump(), "again") == config)) std::abort();
    } catch (const attn::Error&) {
    }
    try {
        const attn::ForwardSettings settings = attn::forward_settings_from_json(text, "input");
        if (!(attn::forward_settings_from_json(attn::to_json(settings).dump(), "again") == settings)) std::abort();
    } catch (const attn::Error&) {
    }
    return 0;
}
