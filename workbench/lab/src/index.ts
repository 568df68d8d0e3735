/**
 * The extension's plugins.
 */

import { dashboard } from './plugins/dashboard';
import { completion, editors } from './plugins/editors';
import { isa } from './plugins/isa';
import { menus } from './plugins/menus';
import { notebooks } from './plugins/notebooks';
import { places } from './plugins/places';
import { runs } from './plugins/runs';
import { services } from './plugins/services';
import { sidebar } from './plugins/sidebar';
import { sources } from './plugins/sources';
import { templates } from './plugins/templates';

export default [
  services,
  editors,
  completion,
  notebooks,
  sidebar,
  places,
  isa,
  dashboard,
  sources,
  runs,
  templates,
  menus
];
