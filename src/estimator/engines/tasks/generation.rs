//! Generation by transformers' `generate` with a `DynamicCache` (transformers 5.23.0, generation/utils.py): the prompts are read
//! at once, and then there is a pass for each token. Prompts are of one length, and a mask that hides nothing says so.

use super::{Local, Networks, Script, computed_of, handed_out};
use crate::estimator::engines::passes::{Network, Pass};
use crate::estimator::models::{Block, Collation, End, NotCounted, tokens};
use crate::estimator::operators::{Form, Operator, Place, Types, Value};
use crate::estimator::units::{B, DType, Extent, Shape, T, V};

/// What is generated, and how.
#[derive(Clone, Copy)]
pub struct Generation {
    /// The network, by its number.
    pub network: usize,
    /// Its types.
    pub types: Types,
    /// The type of its weights.
    pub dtype: DType,
    /// Sequences that are generated at once.
    pub sequences: u32,
    /// Tokens of each prompt.
    pub prompt: u32,
    /// Tokens that are generated behind it.
    pub tokens: u32,
    /// Whether the model's configuration names a token with which sequences end.
    pub has_end_token: bool,
    /// Whether the caller wants the scores of tokens beside the sequences.
    pub kind: Kind,
}

/// A caller of `generate`, by what it gives beside the prompts and gets beside the sequences.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A mask of numbers, and it gets the sequences alone.
    Plain,
    /// A mask of booleans, and copies of the prompts with padding filled; it divides logits by a temperature, and has a list get
    /// the quotients of every token (`output_scores`).
    Scored {
        /// The list.
        list: Local,
        /// Whether the model's configuration names a token with which sequences begin. One that ends them is taken away.
        has_begin_token: bool,
    },
}

impl Kind {
    /// The type of the mask.
    const fn mask(self) -> DType {
        if let Self::Plain = self { DType::Long } else { DType::Byte }
    }
}

/// The trained model as `generate` calls it, with a mask of a type.
pub fn network(networks: Networks<'_>, mask: DType) -> Result<Network, NotCounted> {
    let model = networks.trained(End::LogitsOfLast, Collation::Cached(mask), true)?;
    Ok(Network::again(model, networks.types()))
}

/// A number of a type for each sequence.
const fn each(dtype: DType) -> Form {
    Form::new(dtype, B)
}

/// A number of a type.
const fn one(dtype: DType) -> Form {
    Form::new(dtype, Shape::ONE)
}

/// The tokens so far.
fn so_far() -> Form {
    Form::new(DType::Long, B * T)
}

/// Something that is computed of values, on the way to the next token.
fn computed(block: &mut Block, x: Value, y: Option<Value>, form: Form) -> Value {
    block.add(Place::Sampling, Operator::Computed { x, y, form })
}

/// `generate` of prompts with sampling: the whole sequences, and the mask and the copies of the prompts, which the caller has.
/// The cache stays, and what follows is still given what the last round is.
pub fn generate(script: &mut Script, prompts: Local, generation: Generation) -> [Local; 3] {
    let Generation { network, types, dtype, sequences, prompt, tokens, has_end_token, kind } = generation;
    let extent = Extent { sequences, tokens: prompt, cached: prompt };
    // The tokens so far, the last of which a pass is given.
    let grows = Extent { sequences: 0, tokens: 0, cached: 1 };
    let out = Form::new(types.autocast.unwrap_or(dtype), B * V);
    script.passes.push(Pass::Extent(Some(extent)));
    let own_mask = script.name();
    let names @ [first_places, pad, begin, end, unfinished, ids, sequence] = script.names();
    let [mask, places] = script.names();
    let filled = script.name();
    script.call_into(masked(kind), &[prompts], &[own_mask, filled]);
    let begun = begun(sequences > 1, has_end_token, kind);
    script.call_into(begun, &[filled, own_mask], &[&names[..], &[mask, places]].concat());
    let logits = script.name();
    forward(script, network, [ids, mask, places], logits, types, out);
    script.forget(&[ids]);

    let before = std::mem::take(&mut script.passes);
    let [given_ids, given_mask, given_places, wide, probabilities, next] = script.names();
    script.call_into(advanced(kind), &[places, mask], &[places, mask]);
    let wide_form = out.with_dtype(DType::Single);
    script.call_into(computed_of(Place::Sampling, out, wide_form), &[logits], &[wide]);
    let mut scaled = wide;
    if let Kind::Scored { list, .. } = kind {
        // `TemperatureLogitsWarper`.
        scaled = script.name();
        script.call_into(computed_of(Place::Sampling, wide_form, wide_form), &[wide], &[scaled]);
        script.each(computed_same(wide_form), 1, &[scaled], &[], list);
    }
    script.call_into(computed_of(Place::Sampling, wide_form, wide_form), &[scaled], &[probabilities]);
    let (mut block, arguments) = Block::new(&[wide_form]);
    let drawn = block.add(Place::Sampling, Operator::Multinomial { x: arguments[0], width: V });
    script.call_into(block.giving(&[drawn]), &[probabilities], &[next]);
    if has_end_token {
        script.call_into(padded(), &[next, unfinished, pad], &[next]);
    }
    let (mut block, arguments) = Block::new(&[so_far(), each(DType::Long)]);
    let longer = computed(&mut block, arguments[0], Some(arguments[1]), so_far());
    script.call_into(block.giving(&[longer]), &[sequence, next], &[sequence]);
    script.call_into(stopped(has_end_token), &[sequence, unfinished], &[unfinished]);
    let (mut block, arguments) = Block::new(&[each(DType::Long)]);
    let most = computed(&mut block, arguments[0], None, one(DType::Long));
    computed(&mut block, most, None, one(DType::Byte));
    script.call_into(block.giving(&[]), &[unfinished], &[]);
    script.forget(&[logits]);
    let passes = std::mem::take(&mut script.passes);

    let (mut block, arguments) = Block::new(&[so_far(), so_far(), so_far().with_dtype(kind.mask())]);
    let [last_ids, last_places] = [0, 1].map(|of| computed(&mut block, arguments[of], None, each(DType::Long)));
    let same = block.add(Place::Sampling, Operator::Return { x: arguments[2] });
    let prepared = block.giving(&[last_ids, last_places, same]);
    script.call_into(prepared, &[sequence, places, mask], &[given_ids, given_places, given_mask]);
    forward(script, network, [given_ids, given_mask, given_places], logits, types, out);
    let between = std::mem::replace(&mut script.passes, before);

    let extent = Extent { tokens: 1, ..extent };
    let leaves =
        if let Kind::Scored { list, .. } = kind { Some((script.function(zeros(wide_form)), list)) } else { None };
    script.passes.push(Pass::Rounds { extent, grows, times: tokens, leaves, passes, between });
    script.forget(&[mask, places, unfinished, given_ids, given_places, given_mask, wide, probabilities, next]);
    script.forget(&[pad, begin, end, first_places]);
    if scaled != wide {
        script.forget(&[scaled]);
    }
    [sequence, own_mask, filled]
}

/// A function of nothing that makes a tensor.
fn zeros(form: Form) -> Block {
    let (mut block, _) = Block::new(&[]);
    let made = block.add(Place::Sampling, Operator::Zeros { form });
    block.giving(&[made])
}

/// A function that puts out what it is given.
fn computed_same(form: Form) -> Block {
    let (mut block, arguments) = Block::new(&[form]);
    let same = block.add(Place::Sampling, Operator::Return { x: arguments[0] });
    block.giving(&[same])
}

/// A function that makes the mask of prompts, and for a caller that fills padding a copy of the prompts without it.
fn masked(kind: Kind) -> Block {
    let (mut block, arguments) = Block::new(&[tokens()]);
    let prompts = arguments[0];
    let form = tokens().with_dtype(kind.mask());
    let mask = block.add(Place::Mask, Operator::Computed { x: prompts, y: None, form });
    let filled = match kind {
        Kind::Plain => block.add(Place::Sampling, Operator::Return { x: prompts }),
        Kind::Scored { .. } => {
            let hidden = computed(&mut block, mask, None, form);
            computed(&mut block, hidden, None, tokens())
        }
    };
    block.giving(&[mask, filled])
}

/// A pass of the network, which gives a name logits of the last token.
fn forward(script: &mut Script, network: usize, given: [Local; 3], into: Local, types: Types, out: Form) {
    let logits = script.forward(network, &given, &[]);
    let (logits, _) = handed_out(script, types, logits, out);
    script.passes.push(Pass::Move(logits, into));
}

/// What `generate` does before the prompts are read: special tokens, looks at the mask and at the prompts, positions
/// (`_prepare_special_tokens`, `_prepare_position_ids_for_generation`, `_get_logits_processor`). Positions, special tokens,
/// which sequences are not finished, a copy of the prompts, and the prompts themselves; then mask and positions again, as others
/// name them, too.
fn begun(has_several_sequences: bool, has_end_token: bool, kind: Kind) -> Block {
    let (mut block, arguments) = Block::new(&[tokens(), tokens().with_dtype(kind.mask())]);
    let (prompts, mask) = (arguments[0], arguments[1]);
    let flags = tokens().with_dtype(DType::Byte);
    let all = |block: &mut Block, x, form| {
        let flags = computed(block, x, None, form);
        block.add(Place::Sampling, Operator::AllOfFlags { x: flags });
    };
    let mut special = || computed(&mut block, prompts, None, one(DType::Long));
    let [begin, end, pad] = match kind {
        _ if has_end_token => std::array::from_fn(|_| special()),
        // Nothing but the prompts themselves is there then.
        Kind::Scored { has_begin_token: false, .. } => [block.add(Place::Sampling, Operator::Return { x: prompts }); 3],
        _ => [special(); 3],
    };
    if has_end_token {
        // `torch.isin(eos, pad).any()`, and whether one is negative.
        let flag = one(DType::Byte);
        let is_in = computed(&mut block, end, None, flag);
        let equal = computed(&mut block, end, None, flag);
        computed(&mut block, equal, None, flag);
        computed(&mut block, is_in, None, flag);
        all(&mut block, end, flag);
    }
    // Whether a prompt ends with the token that pads, where there is one.
    if has_several_sequences && matches!(kind, Kind::Plain) {
        all(&mut block, mask, each(DType::Byte));
    }
    let numbers = match kind {
        Kind::Plain => mask,
        Kind::Scored { .. } => computed(&mut block, mask, None, tokens()),
    };
    let counted = computed(&mut block, numbers, None, tokens());
    let less = computed(&mut block, counted, None, tokens());
    let hidden = computed(&mut block, mask, None, flags);
    let positions = Operator::Computed { x: less, y: Some(hidden), form: tokens() };
    let positions = block.add(Place::Positions, positions);
    all(&mut block, mask, flags);
    all(&mut block, prompts, flags);
    let unfinished = computed(&mut block, prompts, None, each(DType::Long));
    let ids = computed(&mut block, prompts, None, tokens());
    let sequence = block.add(Place::Sampling, Operator::Return { x: prompts });
    let same = block.add(Place::Mask, Operator::Return { x: mask });
    block.giving(&[positions, pad, begin, end, unfinished, ids, sequence, same, positions])
}

/// Positions and mask with those of a new token (`_update_model_kwargs_for_generation`).
fn advanced(kind: Kind) -> Block {
    let form = so_far().with_dtype(kind.mask());
    let (mut block, arguments) = Block::new(&[so_far(), form]);
    let number = computed(&mut block, arguments[0], None, one(DType::Long));
    let sum = computed(&mut block, arguments[0], Some(number), each(DType::Long));
    let next = computed(&mut block, sum, None, each(DType::Long));
    let positions = Operator::Computed { x: arguments[0], y: Some(next), form: so_far() };
    let positions = block.add(Place::Positions, positions);
    let ones = computed(&mut block, arguments[1], None, each(kind.mask()));
    let mask = Operator::Computed { x: arguments[1], y: Some(ones), form };
    let mask = block.add(Place::Mask, mask);
    block.giving(&[positions, mask])
}

/// The next tokens, those of sequences that have ended replaced by the one that pads (`_sample`).
fn padded() -> Block {
    let (mut block, arguments) = Block::new(&[each(DType::Long), each(DType::Long), one(DType::Long)]);
    let [next, unfinished, pad] = [arguments[0], arguments[1], arguments[2]];
    let kept = computed(&mut block, next, Some(unfinished), each(DType::Long));
    let ended = computed(&mut block, unfinished, None, each(DType::Long));
    let padding = computed(&mut block, ended, Some(pad), each(DType::Long));
    let sum = computed(&mut block, kept, Some(padding), each(DType::Long));
    block.giving(&[sum])
}

/// Which sequences are not finished (`StoppingCriteriaList`: as many tokens as there may be, and the token that ends).
fn stopped(has_end_token: bool) -> Block {
    let (mut block, arguments) = Block::new(&[so_far(), each(DType::Long)]);
    let [sequence, unfinished] = [arguments[0], arguments[1]];
    let flags = each(DType::Byte);
    let none = computed(&mut block, sequence, None, flags);
    let is_long = computed(&mut block, sequence, None, flags);
    let mut done = computed(&mut block, none, Some(is_long), flags);
    if has_end_token {
        let is_in = computed(&mut block, sequence, None, flags);
        let equal = computed(&mut block, sequence, None, flags);
        computed(&mut block, equal, None, flags);
        let any = computed(&mut block, is_in, None, flags);
        done = computed(&mut block, done, Some(any), flags);
    }
    let going = computed(&mut block, done, None, flags);
    let still = computed(&mut block, unfinished, Some(going), each(DType::Long));
    block.giving(&[still])
}
