//! Our kernels on one GPU: compiled once per run and source, loaded when first launched.
//!
//! The compiler is looked for like every other library of NVIDIA, in the folders of Python
//! packages too. Machine code is kept between runs. Where there is no compiler, or one that
//! does not know the GPU, whatever needs a kernel of ours is not supported, and says why;
//! copies and fills go on.

use std::collections::HashMap;
use std::sync::Arc;

use kernelgauge_data::{Diagnostic as _, Failure};

use super::context::Context;
use super::facts::Facts;
use super::kernels::{Architecture, Cache, Compiler, Geometry, KernelError, Source, entry};
use super::module::{Argument, Launch, Module};

/// The kernel whose source is compiled first, to see whether the compiler knows the GPU.
const FIRST: &str = "empty";

/// Kernels of ours, for one GPU.
#[derive(Debug)]
pub struct LoadedKernels {
    context: Arc<Context>,
    architecture: Architecture,
    units: u32,
    compiler: Result<Compiler, KernelError>,
    cache: Option<Cache>,
    modules: HashMap<&'static str, Arc<Module>>,
}

impl LoadedKernels {
    /// Finds a compiler and tries it on a small source.
    ///
    /// # Errors
    /// What the driver says of the GPU; no error is a missing compiler, nor one whose code the
    /// driver refuses.
    pub fn new(context: &Arc<Context>, gpu: &Facts) -> Result<Self, Failure> {
        let mut kernels = LoadedKernels {
            context: Arc::clone(context),
            architecture: Architecture::new(gpu.compute.0, gpu.compute.1),
            units: gpu.units,
            compiler: Compiler::open(),
            cache: Cache::of_user(),
            modules: HashMap::new(),
        };
        if let (Ok(compiler), Some((source, _))) = (&kernels.compiler, entry(FIRST)) {
            match compiler.compile_cached(source, kernels.architecture, kernels.cache.as_ref()) {
                Ok(compiled) => match Module::load(context, &compiled.cubin) {
                    Ok(module) => drop(kernels.modules.insert(source.file, module)),
                    Err(failure) => {
                        // A GPU that failed says so to whatever it is asked next.
                        context.free_memory()?;
                        let (version, why) = (compiler.version(), failure.to_string());
                        kernels.compiler = Err(KernelError::Refused { version, why });
                    }
                },
                Err(error) => kernels.compiler = Err(error),
            }
        }
        Ok(kernels)
    }

    /// Why no kernel of ours can be launched; none where they can.
    pub fn missing(&self) -> Option<String> {
        let error = self.compiler.as_ref().err()?;
        let hint = error.hint().unwrap_or_default();
        Some(format!("kernels are compiled on the machine: {error}; {hint}"))
    }

    /// Version of the compiler, where there is one: it decides the code that is measured.
    pub fn compiler_version(&self) -> Option<String> {
        let (major, minor) = self.compiler.as_ref().ok()?.version();
        Some(format!("{major}.{minor}"))
    }

    /// Multiprocessors of the GPU.
    pub fn units(&self) -> u32 {
        self.units
    }

    /// The kernel `name` on the grid that its rule gives for `extent`.
    ///
    /// # Errors
    /// When it cannot be compiled, or what the driver says.
    pub fn launch(
        &mut self,
        name: &str,
        extent: &[u64],
        arguments: &[Argument],
    ) -> Result<Launch, Failure> {
        let Some((_, entry)) = entry(name) else { return Err(unknown(name)) };
        self.launch_on(name, entry.rule.geometry(extent, self.units), arguments)
    }

    /// The kernel `name` on a grid that was planned.
    ///
    /// # Errors
    /// As [`LoadedKernels::launch`].
    pub fn launch_on(
        &mut self,
        name: &str,
        geometry: Geometry,
        arguments: &[Argument],
    ) -> Result<Launch, Failure> {
        let Some((source, entry)) = entry(name) else { return Err(unknown(name)) };
        let kernel = self.module(source)?.kernel(entry.name)?;
        Ok(Launch::new(kernel, geometry, arguments))
    }

    fn module(&mut self, source: &'static Source) -> Result<Arc<Module>, Failure> {
        if let Some(module) = self.modules.get(source.file) {
            return Ok(Arc::clone(module));
        }
        let failed = |error: &KernelError| Failure::Device(error.to_string());
        let compiler = self.compiler.as_ref().map_err(failed)?;
        let compiled = compiler
            .compile_cached(source, self.architecture, self.cache.as_ref())
            .map_err(|error| failed(&error))?;
        let module = Module::load(&self.context, &compiled.cubin)?;
        self.modules.insert(source.file, Arc::clone(&module));
        Ok(module)
    }
}

fn unknown(name: &str) -> Failure {
    Failure::Device(format!("there is no kernel {name}"))
}
