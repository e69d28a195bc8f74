/// Arbitrary bytes as a lesson: refused with an Error, or read, with its captions formatted without numbers.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "app/session/lessons/lesson.hpp"
#include "engine/tensor/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const attn::app::Lesson lesson = attn::app::parse_lesson(text, "input");
        if (lesson.steps.empty()) std::abort();
        for (const attn::app::LessonStep& step : lesson.steps) attn::app::caption_text(step.caption);
    } catch (const attn::Error&) {
    }
    return 0;
}
