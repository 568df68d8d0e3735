"""The modules that draw results: each registers its drawers (`workbench.display`) as it is imported."""

from workbench.views import advice as advice
from workbench.views import benchmarks as benchmarks
from workbench.views import doctor as doctor
from workbench.views import exercises as exercises
from workbench.views import hardware as hardware
from workbench.views import history as history
from workbench.views import launch as launch
from workbench.views import layout as layout
from workbench.views import listings as listings
from workbench.views import profile as profile
from workbench.views import resources as resources
from workbench.views import sanitizer as sanitizer
from workbench.views import shown_values as shown_values
from workbench.views import stalls as stalls
from workbench.views import stepper as stepper
from workbench.views import timelines as timelines
from workbench.views import timing as timing
from workbench.views import training as training
from workbench.views import tuning as tuning
from workbench.views import verify as verify
from workbench.views import xcd as xcd
from workbench.views.renderer import add_pictures

# A requested figure is shown next, with `%load_ext workbench` or without.
add_pictures()
