#include "engine/tasks/sample_text.hpp"

// Embedded at build time (third_party/embed.cmake).
extern "C" const char attn_sample_text_begin[], attn_sample_text_end[];

namespace attn {

const std::shared_ptr<const std::string>& sample_text() {
    static const auto text = std::make_shared<const std::string>(attn_sample_text_begin, attn_sample_text_end);
    return text;
}

}  // namespace attn
