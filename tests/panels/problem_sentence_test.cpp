/// Problems at the beginning of a sentence.

#include "app/panels/kit/problem_sentence.hpp"

#include <gtest/gtest.h>

namespace attn::app {
namespace {

TEST(ProblemSentence, LeavesNamesAsTheyAre) {
    for (const char* name :
         {"tiny.gguf: the file changed while it was read", "tiny-00001-of-00002.gguf: is gone", "my model.gguf: the file changed",
          "runs/a/model.safetensors, byte 8: is damaged", "model: it has no weights", "model.safetensors, h.0.attn: holds I32",
          "d_model 15 is not divisible by 4 heads: 16 would be", "layer_norm_eps must be positive"})
        EXPECT_EQ(problem_sentence(name), name);
}

TEST(ProblemSentence, BeginsWithACapitalOtherwise) {
    EXPECT_EQ(problem_sentence("type some text"), "Type some text");
    EXPECT_EQ(problem_sentence("the text has 70 tokens, but the context length is 64: shorten the text"),
              "The text has 70 tokens, but the context length is 64: shorten the text");
    EXPECT_EQ(problem_sentence("this would take 12.5 MiB, but the memory budget leaves 1 MiB"),
              "This would take 12.5 MiB, but the memory budget leaves 1 MiB");
    EXPECT_EQ(problem_sentence("\"é\" is not among the symbols"), "\"é\" is not among the symbols");
    EXPECT_EQ(problem_sentence(""), "");
}

}  // namespace
}  // namespace attn::app
