#include "app/session/head_rows.hpp"

#include <gtest/gtest.h>

#include "app/session/presets.hpp"
#include "app/session/session.hpp"

namespace attn::app {
namespace {

TEST(RowsOfAllHeads, AreTheRowsOfTheMaps) {
    for (const char* preset : {"stories", "translation"}) {
        SCOPED_TRACE(preset);
        Session session(open_preset(preset), [] {});
        const auto snapshot = session.wait();
        const auto rows = session.get(facet::HeadRows{0, 2});
        const Config& config = snapshot->trace->config;
        ASSERT_EQ(rows->kinds.size(), config.architecture == Architecture::EncoderDecoder ? 2U : 1U);
        for (const HeadRowsOf& kind : rows->kinds) {
            ASSERT_EQ(kind.maps.size(), static_cast<std::size_t>(config.num_layers * config.num_heads));
            for (std::size_t row = 0; row < kind.maps.size(); ++row)
                for (std::int64_t key = 0; key < kind.keys; ++key)
                    EXPECT_EQ(kind.weights[row * static_cast<std::size_t>(kind.keys) + static_cast<std::size_t>(key)],
                              snapshot->trace->find(kind.maps[row])->value(0, kind.heads[row], 2, key));
        }
        EXPECT_FALSE(session.compute(facet::HeadRows{0, 1000}));
        EXPECT_FALSE(session.compute(facet::HeadRows{3, 0}));
    }
}

}  // namespace
}  // namespace attn::app
