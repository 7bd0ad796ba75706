//! A function of a model's class as data: operators in order, between arguments and results.

use std::ops::Range;

use crate::estimator::operators::{
    Application, Checkpoint, Form, Lowering, ModuleKind, Operator, Place, Program, Registry, Side, Types, Value,
};
use crate::estimator::units::DType;

/// A function of the model's class: arguments, operators, results.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its operators in order.
    pub applications: Vec<Application>,
    arguments: Vec<Form>,
    /// The arguments that the caller hands over for good; the caller keeps the others until the block is done.
    taken: Vec<Value>,
    /// Arguments that the caller does not hand over.
    left_out: Vec<Value>,
    results: Vec<Value>,
    /// What the caller is given behind the results.
    handed_back: Vec<Value>,
    /// The places of its weights in the order in which the class declares them, where it is another than that of use.
    declared: &'static [Place],
    /// The places of its weights that the class declares behind the layers behind it.
    declared_late: &'static [Place],
    /// Whether the class declares its weights before those that were declared late.
    declares_ahead: bool,
    /// To which stack it belongs.
    pub side: Side,
    /// How many results, behind the hidden state, all layers behind it are given from here on, where it stands between
    /// layers and takes the place of the block before them. It is given what the block behind all layers is.
    pub begins: Option<usize>,
    /// Whether it is a layer.
    pub is_layer: bool,
    /// How the backward pass computes it again, where it does.
    pub checkpoint: Option<Checkpoint>,
    /// The modules of its class that have several operators, outer ones first.
    modules: Vec<Span>,
    /// How many operators the module with embedding, layers and final norm has, and what it puts out, where it ends here.
    end_of_model: Option<(usize, Value)>,
    /// Blocks like it that come behind it and are one with it, each given what the one before puts out.
    pub behind: Vec<Self>,
    values: u16,
}

/// A module that has several operators.
#[derive(Clone, Debug)]
struct Span {
    /// Its operators, by their numbers.
    operators: Range<usize>,
    /// What it is given by position.
    given: Option<Value>,
    /// What it puts out.
    result: Value,
}

impl Block {
    /// A block of no operators yet, with its arguments.
    pub fn new(arguments: &[Form]) -> (Self, Vec<Value>) {
        let values = (0..arguments.len() as u16).map(Value).collect::<Vec<_>>();
        let block = Self {
            applications: Vec::new(),
            arguments: arguments.to_vec(),
            taken: Vec::new(),
            left_out: Vec::new(),
            results: Vec::new(),
            handed_back: Vec::new(),
            declared: &[],
            declared_late: &[],
            declares_ahead: false,
            side: Side::Decoder,
            begins: None,
            is_layer: true,
            checkpoint: None,
            modules: Vec::new(),
            end_of_model: None,
            behind: Vec::new(),
            values: values.len() as u16,
        };
        (block, values)
    }

    /// The form of its first argument.
    pub fn first_argument(&self) -> Option<Form> {
        self.arguments.first().copied()
    }

    /// Gives its arguments other forms.
    pub fn map_arguments(&mut self, map: impl Fn(Form) -> Form) {
        self.arguments.iter_mut().for_each(|form| *form = map(*form));
    }

    /// Adds an operator of one result.
    pub fn add(&mut self, place: Place, operator: Operator) -> Value {
        let [result] = self.add_all(place, operator);
        result
    }

    /// Adds an operator of several results.
    pub fn add_all<const RESULTS: usize>(&mut self, place: Place, operator: Operator) -> [Value; RESULTS] {
        debug_assert_eq!(usize::from(operator.results()), RESULTS, "{operator:?}");
        let first = self.values;
        self.values += operator.results();
        self.applications.push(Application {
            place,
            operator,
            is_trained: true,
            is_leaf: false,
            is_saved: false,
            names: Vec::new(),
        });
        std::array::from_fn(|result| Value(first + result as u16))
    }

    /// Makes the operators that were added from a number on a module, which is given one value by position or none.
    pub fn module(&mut self, from: usize, given: Option<Value>, result: Value) {
        self.modules.push(Span { operators: from..self.applications.len(), given, result });
        self.modules.sort_by_key(|span| (span.operators.start, usize::MAX - span.operators.end));
    }

    /// Ends the module that has embedding, layers and final norm.
    pub fn end_model(&mut self, result: Value) {
        self.end_of_model = Some((self.applications.len(), result));
    }

    /// Freezes the operator that was added last.
    pub fn freeze(&mut self) {
        self.applications.last_mut().into_iter().for_each(|application| application.is_trained = false);
    }

    /// Freezes the operators that were added from a number on.
    pub fn freeze_from(&mut self, first: usize) {
        self.applications.iter_mut().skip(first).for_each(|application| application.is_trained = false);
    }

    /// Gives values a name until the operator that was added last is done.
    pub fn named(&mut self, values: &[Value]) {
        self.applications.last_mut().into_iter().for_each(|application| application.names.extend(values));
    }

    /// Takes arguments over from the caller.
    pub fn take(&mut self, arguments: &[Value]) {
        self.taken.extend(arguments);
    }

    /// Whether it takes the argument at a place over.
    pub fn takes(&self, place: usize) -> bool {
        self.taken.iter().any(|taken| usize::from(taken.0) == place)
    }

    /// Leaves an argument to blocks that come in turn with this one: nobody keeps it for this one's sake.
    pub fn leave_out(&mut self, argument: Value) {
        self.left_out.push(argument);
    }

    /// Gives the caller values behind the results.
    pub fn hand_back(&mut self, values: &[Value]) {
        self.handed_back.extend(values);
    }

    /// The same block with its results.
    pub fn giving(mut self, results: &[Value]) -> Self {
        self.results = [results, &self.handed_back].concat();
        self
    }

    /// The same block with the order in which its class declares weights.
    pub fn declaring(mut self, declared: &'static [Place]) -> Self {
        self.declared = declared;
        self
    }

    /// The same block, some of whose weights its class declares behind the layers behind it.
    pub fn declaring_late(mut self, declared: &'static [Place]) -> Self {
        self.declared_late = declared;
        self
    }

    /// Says that the class declares the weights of this block between layers before those that were declared late.
    pub fn declaring_ahead(mut self) -> Self {
        self.declares_ahead = true;
        self
    }

    /// Gives one more of the block's arguments back, behind its results.
    pub fn giving_also(mut self, argument: Value) -> Self {
        self.results.push(argument);
        self
    }

    /// The same block of an encoder.
    pub fn of_encoder(mut self) -> Self {
        self.side = Side::Encoder;
        self
    }

    /// The same block between layers, with how many of its results all layers behind it are given.
    pub fn beginning(mut self, shared: usize) -> Self {
        (self.begins, self.is_layer) = (Some(shared), false);
        self
    }

    /// A block that casts a value, and is given another.
    pub fn cast(place: Place, from: Form, to: DType, beside: Form) -> Self {
        let (mut block, arguments) = Self::new(&[from, beside]);
        let result = block.add(place, Operator::To { x: arguments[0], dtype: to });
        block.giving(&[result])
    }

    /// A block that multiplies a value so often by a number; the last product comes first.
    pub fn scaled(place: Place, from: Form, times: usize) -> Self {
        let (mut block, arguments) = Self::new(&[from]);
        let mut products = vec![arguments[0]];
        for _ in 0..times {
            products.push(block.add(place, Operator::Scale { x: products[products.len() - 1] }));
        }
        products.remove(0);
        products.reverse();
        block.giving(&products)
    }

    /// The kernels of the block and of those that are one with it.
    pub fn lower(&self, registry: &mut Registry, types: Types) -> Program {
        let first = self.lower_alone(registry, types);
        self.behind
            .iter()
            .fold(first, |before, block| before.followed_by(block.lower(registry, types), self.arguments.len()))
    }

    /// The kernels of the block. A value goes with the operator that reads it last, as a name that is overwritten.
    fn lower_alone(&self, registry: &mut Registry, types: Types) -> Program {
        let mut lowering = Lowering::new(registry, &self.arguments, types);
        let mut next = self.arguments.len() as u16;
        let mut open: Vec<(&Span, usize)> = Vec::new();
        for (position, application) in self.applications.iter().enumerate() {
            let later = &self.applications[position + 1..];
            let is_over = |value: &Value| {
                let is_own = usize::from(value.0) >= self.arguments.len() || self.taken.contains(value);
                let is_read = later.iter().any(|later| later.reads(*value));
                is_own && !is_read && !self.results.contains(value)
            };
            let mut owned = application.operator.inputs();
            owned.extend(application.names.iter().filter(|name| !application.operator.inputs().contains(name)));
            owned.retain(is_over);
            owned.dedup();
            let results = next..next + application.operator.results();
            next = results.end;
            for span in self.modules.iter().filter(|span| span.operators.start == position) {
                let given = span.given.map(|given| lowering.slot(given));
                open.push((span, lowering.enter(ModuleKind::Plain, given)));
            }
            lowering.apply(application, &owned, &results.map(Value).filter(is_over).collect::<Vec<_>>());
            while let Some((span, module)) = open.pop_if(|(span, _)| span.operators.end == position + 1) {
                lowering.leave(module, lowering.slot(span.result));
            }
            if let Some((_, result)) = self.end_of_model.filter(|(end, _)| *end == position + 1) {
                lowering.leave_model(lowering.slot(result));
            }
        }
        let left_out = self.left_out.iter().map(|&argument| lowering.slot(argument)).collect();
        let mut program = lowering.finish(&self.results, self.declared);
        for weight in &mut program.weights {
            weight.is_declared_late = self.declared_late.contains(&weight.place);
        }
        let (checkpoint, begins) = (self.checkpoint, self.begins);
        Program { left_out, checkpoint, begins, declares_ahead: self.declares_ahead, ..program }
    }
}
