/// Arbitrary bytes as the window's settings file: never an exception, and what is read round-trips without changes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "app/session/files/settings.hpp"
#include "tests/fuzz/scratch_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const attn::test::ScratchFile file, again;
    file.fill(data, size);
    const attn::app::LoadedSettings loaded = attn::app::load_settings(file.path());
    std::filesystem::path bad = file.path();
    bad += ".bad";
    if (std::filesystem::exists(bad) == loaded.note.empty()) std::abort();
    std::filesystem::remove(bad);
    attn::app::save_settings(again.path(), loaded.settings);
    const attn::app::LoadedSettings back = attn::app::load_settings(again.path());
    if (!back.note.empty() || !(back.settings == loaded.settings)) std::abort();
    return 0;
}
