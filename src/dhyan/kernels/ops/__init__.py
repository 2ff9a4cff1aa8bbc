"""Operations of the models: each chooses between its PyTorch reference and a fused kernel.

Nothing else of `dhyan.kernels` is imported by models and attention.
"""

from dhyan.kernels.ops.attention import additive_attention as additive_attention
from dhyan.kernels.ops.attention import additive_scores as additive_scores
from dhyan.kernels.ops.attention import dot_product_attention as dot_product_attention
from dhyan.kernels.ops.layers import add as add
from dhyan.kernels.ops.layers import add_norm as add_norm
from dhyan.kernels.ops.layers import embedding as embedding
from dhyan.kernels.ops.layers import feed_forward as feed_forward
from dhyan.kernels.ops.layers import linear as linear
from dhyan.kernels.ops.layers import linear_cross_entropy as linear_cross_entropy
from dhyan.kernels.ops.layers import linear_r_drop_loss as linear_r_drop_loss
from dhyan.kernels.ops.layers import norm as norm
from dhyan.kernels.ops.layers import packed_linear as packed_linear
from dhyan.kernels.ops.layers import residual_norm as residual_norm
from dhyan.kernels.ops.recurrent import AttentionOperands as AttentionOperands
from dhyan.kernels.ops.recurrent import bahdanau_decoder as bahdanau_decoder
from dhyan.kernels.ops.recurrent import luong_decoder as luong_decoder
from dhyan.kernels.ops.recurrent import maxout as maxout
from dhyan.kernels.ops.recurrent import padded_rnn as padded_rnn
from dhyan.kernels.ops.recurrent import rnn as rnn
from dhyan.kernels.reference import at_least_float32 as at_least_float32
from dhyan.kernels.reference import attend as attend
from dhyan.kernels.reference import dot_scores as dot_scores
from dhyan.kernels.reference import position_mask as position_mask
from dhyan.kernels.reference import r_drop_loss as r_drop_loss
from dhyan.kernels.reference import rnn_state as rnn_state
from dhyan.kernels.reference import scaled_dot_scores as scaled_dot_scores
