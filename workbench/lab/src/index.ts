/**
 * The extension's plugins.
 */

import {
  ILabShell,
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, MainAreaWidget, Notification, WidgetTracker } from '@jupyterlab/apputils';
import {
  EditorExtensionRegistry,
  IEditorExtensionRegistry,
  type CodeMirrorEditor
} from '@jupyterlab/codemirror';
import type { CodeCell } from '@jupyterlab/cells';
import { ICompletionProviderManager } from '@jupyterlab/completer';
import { PathExt } from '@jupyterlab/coreutils';
import { ILauncher } from '@jupyterlab/launcher';
import { IMainMenu } from '@jupyterlab/mainmenu';
import { INotebookTracker, NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Token } from '@lumino/coreutils';
import { Menu, TabPanel, type Widget } from '@lumino/widgets';

import {
  savePage,
  chooseTemplate,
  currentCell,
  loadWorkbench,
  noteReply,
  runWithOptions,
  verifyOptions
} from './actions';
import { NotebookWatcher, compiledCells, recordOf } from './cells';
import { CommandIDs } from './commands';
import { HipkittensCompletions } from './completion';
import { addCounterSearch } from './counters';
import { DashboardView } from './dashboard';
import { goToFinding } from './diagnostics';
import { cellExtension, type IServices } from './editor';
import { focusAtOnce } from './focus';
import { RunHistory } from './history';
import { cardUrl, dashboardIcon, isaIcon, workbenchIcon } from './icons';
import { IsaView, type IIsaTarget } from './isaview';
import { HeaderView } from './headerview';
import { kernelLine, type IKernelState, type KernelLine } from './kernel';
import { SourceLinks } from './links';
import { addLiveViews } from './liveview';
import { moduleName } from './magic';
import { createNotebook, insertTemplate, selectKernel } from './newkernel';
import { Preferences } from './preferences';
import { problems } from './problems';
import { formatCell, goToDefinition, type IHeader } from './source';
import { Sidebar, WorkbenchModel } from './sidebar';
import { connectTimelines } from './timelines';
import { TEMPLATES } from './templates';
import { firstTutorial } from './tutorials';
import { withholdWidgets } from './untrusted';

const ID = 'hipkittens-workbench';

/** What the extension's plugins share. */
const IWorkbench = new Token<IServices>(`${ID}:IWorkbench`);

const services: JupyterFrontEndPlugin<IServices> = {
  id: `${ID}:plugin`,
  description: 'Settings and names that the HipKittens workbench shares.',
  autoStart: true,
  provides: IWorkbench,
  optional: [ISettingRegistry],
  activate: (_app: JupyterFrontEnd, settings: ISettingRegistry | null) => {
    const preferences = new Preferences();
    void settings
      ?.load(services.id)
      .then(loaded => preferences.follow(loaded))
      .catch(error => console.warn(`The settings of ${ID} cannot be read; defaults are used.`, error));
    return { preferences, links: new SourceLinks() };
  }
};

const editors: JupyterFrontEndPlugin<void> = {
  id: `${ID}:editors`,
  description: 'C++ highlighting, findings, hover and line heat in cells that start with %%hipkittens.',
  autoStart: true,
  requires: [IEditorExtensionRegistry, IWorkbench],
  activate: (_app: JupyterFrontEnd, registry: IEditorExtensionRegistry, shared: IServices) => {
    document.addEventListener('mousedown', focusAtOnce, true);
    problems.connect((_, message) => void Notification.warning(message));
    registry.addExtension({
      name: ID,
      factory: ({ model }) =>
        EditorExtensionRegistry.createImmutableExtension(
          cellExtension(recordOf(model), model.sharedModel.getSource(), shared)
        )
    });
  }
};

const completion: JupyterFrontEndPlugin<void> = {
  id: `${ID}:completion`,
  description: 'Completion in cells that start with %%hipkittens.',
  autoStart: true,
  requires: [ICompletionProviderManager],
  activate: (_app: JupyterFrontEnd, manager: ICompletionProviderManager) => {
    manager.registerProvider(new HipkittensCompletions());
  }
};

const workbench: JupyterFrontEndPlugin<void> = {
  id: `${ID}:workbench`,
  description: 'Sidebar, ISA view and commands of the HipKittens workbench.',
  autoStart: true,
  requires: [INotebookTracker, IWorkbench],
  optional: [ILabShell, ILayoutRestorer, ICommandPalette, IMainMenu, ILauncher, IStateDB, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    shared: IServices,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null,
    mainMenu: IMainMenu | null,
    launcher: ILauncher | null,
    state: IStateDB | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load('hipkittens_workbench');
    const { commands, shell } = app;
    const history = new RunHistory(state);

    const watchers = new WeakMap<NotebookPanel, NotebookWatcher>();
    const watcherOf = (panel: NotebookPanel): NotebookWatcher => {
      let watcher = watchers.get(panel);
      if (!watcher) {
        watcher = new NotebookWatcher(panel);
        watchers.set(panel, watcher);
        watcher.changed.connect((_, record) => {
          if (record?.payload) {
            history.add(panel.context.path, record.payload);
          }
        });
        void history.restore(panel.context.path);
        // Also of a notebook that is not looked at.
        kernelLine(panel.sessionContext).ran.connect((_, runs) => history.addAll(panel.context.path, runs));
        let path = panel.context.path;
        panel.context.pathChanged.connect((_, renamed) => {
          history.move(path, renamed);
          moved(path, renamed);
          path = renamed;
        });
      }
      return watcher;
    };
    // Views of a notebook that is renamed stay its views, also after a reload.
    const moved = (from: string, to: string) => {
      for (const tracked of [views, dashboards]) {
        tracked.forEach(widget => {
          if (pathOf(widget.content) === from) {
            widget.content.renamed(to);
            void (tracked as WidgetTracker<MainAreaWidget<IsaView | DashboardView>>).save(widget);
          }
        });
      }
    };
    tracker.widgetAdded.connect((_, panel) => {
      watcherOf(panel);
      addLiveViews(panel);
      addCounterSearch(panel.content.node, trans);
      withholdWidgets(panel);
    });

    const model = new WorkbenchModel(tracker, history, shared.preferences, watcherOf);
    const sidebar = new Sidebar(model, commands, trans);
    sidebar.id = `${ID}-sidebar`;
    sidebar.title.icon = workbenchIcon;
    sidebar.title.caption = trans.__('HipKittens workbench');
    shell.add(sidebar, 'right', { rank: 600, type: 'HipKittens' });
    restorer?.add(sidebar, sidebar.id);
    model.changed.connect(() => commands.notifyCommandChanged());
    // Once, for the first notebook that has to do with kernels.
    let greeted = false;
    model.changed.connect(() => {
      if (!greeted && shared.preferences.isReady && shared.preferences.welcome && model.mentionsUs) {
        greeted = true;
        shell.activateById(sidebar.id);
      }
    });

    // Notebook 7 has one widget in its main area; a panel below it is where other views go.
    const area = labShell ? 'main' : 'down';
    const views = new WidgetTracker<MainAreaWidget<IsaView>>({ namespace: `${ID}-isa` });
    const dashboards = new WidgetTracker<MainAreaWidget<DashboardView>>({ namespace: `${ID}-dashboard` });
    const headers = new Map<string, MainAreaWidget<HeaderView>>();
    const attach = (view: IsaView | DashboardView) => {
      const panel = tracker.find(one => one.context.path === pathOf(view));
      if (panel) {
        view.attachNotebook(panel);
      }
    };
    tracker.widgetAdded.connect(() => {
      views.forEach(widget => attach(widget.content));
      dashboards.forEach(widget => attach(widget.content));
    });
    const show = (widget: Widget) => {
      shell.activateById(widget.id);
      // Notebook 7 has tabs below the notebook, and does not change to the one that is activated.
      const tabs = widget.parent?.parent;
      if (tabs instanceof TabPanel) {
        tabs.currentWidget = widget;
      }
    };
    // Beside the notebook, and as tabs of one place: a third column would leave too little to each.
    const place = (widget: MainAreaWidget<IsaView | DashboardView | HeaderView>, path: string) => {
      widget.content.toggleClass('jp-hipkittens-Down', area === 'down');
      const open: Widget[] = [...headers.values()];
      views.forEach(one => open.push(one));
      dashboards.forEach(one => open.push(one));
      const beside = open.find(other => other !== widget && other.isAttached);
      const notebook = tracker.find(one => one.context.path === path);
      shell.add(
        widget,
        area,
        labShell
          ? beside
            ? { mode: 'tab-after', ref: beside.id }
            : { mode: 'split-right', ref: notebook?.id }
          : undefined
      );
      if (!(widget.content instanceof HeaderView)) {
        attach(widget.content);
      }
      show(widget);
    };
    const openIsa = (target: IIsaTarget) => {
      const open = views.find(
        ({ content }) => content.target.path === target.path && content.target.module === target.module
      );
      if (open) {
        open.content.choose(target.kernel);
        show(open);
        return open;
      }
      const content = new IsaView(target, shared.links, shared.preferences, trans);
      const widget = new MainAreaWidget({ content });
      // The frame names all contents alike; a screen reader is to hear which this is.
      content.node.setAttribute('aria-label', trans.__('Machine code of %1', target.kernel || target.module));
      widget.id = `${ID}-isa-${target.module}-${target.path.replace(/\W+/g, '-')}`;
      widget.title.label = trans.__('ISA of %1', target.module);
      widget.title.icon = isaIcon;
      widget.title.closable = true;
      void views.add(widget);
      place(widget, target.path);
      return widget;
    };
    const openDashboard = (path: string, fresh: boolean) => {
      const open = dashboards.find(({ content }) => content.path === path);
      if (open) {
        show(open);
        return open;
      }
      const content = new DashboardView(path, fresh, trans);
      const widget = new MainAreaWidget({ content });
      widget.id = `${ID}-dashboard-${path.replace(/\W+/g, '-')}`;
      widget.title.label = trans.__('Dashboard');
      widget.title.icon = dashboardIcon;
      widget.title.closable = true;
      void dashboards.add(widget);
      place(widget, path);
      return widget;
    };

    connectTimelines(shared.links, kernel => {
      const cells = compiledCells(tracker.currentWidget?.content.model).reverse();
      return cells.find(one => one.payload?.kernels.some(({ name }) => name === kernel)) ?? null;
    });

    const cell = () => currentCell(tracker.currentWidget);
    const withCell = { isEnabled: () => cell() !== null };
    const runOptions = async (options: readonly string[]) => {
      const panel = tracker.currentWidget;
      const current = cell();
      if (panel && current) {
        await runWithOptions(panel, current, options);
      }
    };
    const verify = async (again: boolean) => {
      const panel = tracker.currentWidget;
      const current = cell();
      if (!panel || !current) {
        return;
      }
      // The click is answered at once; loading takes seconds.
      current.setPrompt('*');
      await loadWorkbench(panel);
      current.setPrompt(`${current.model.executionCount ?? ''}`);
      const options = await verifyOptions(panel, current, await specsOf(panel), trans, again);
      if (options) {
        noteReply(current, await runWithOptions(panel, current, options));
      }
    };
    // A kernel that has just loaded the workbench has not told yet.
    const specsOf = async (panel: NotebookPanel) =>
      model.state?.specs.length
        ? model.state.specs
        : await kernelLine(panel.sessionContext)
            .ask<IKernelState>('state')
            .then(state => state.specs)
            .catch(() => []);
    const understands = (option: string) => model.state?.options.includes(option) ?? false;

    commands.addCommand(CommandIDs.run, {
      label: trans.__('Run HipKittens Cell'),
      caption: trans.__('Compile the current cell, and run what its options ask for'),
      ...withCell,
      execute: async () => {
        const panel = tracker.currentWidget;
        if (panel) {
          cell()?.setPrompt('*');
          await loadWorkbench(panel);
          await NotebookActions.run(panel.content, panel.sessionContext);
        }
      }
    });
    commands.addCommand(CommandIDs.verify, {
      label: trans.__('Verify HipKittens Cell'),
      caption: trans.__('Run the current cell and compare it with a PyTorch reference'),
      ...withCell,
      execute: () => verify(false)
    });
    commands.addCommand(CommandIDs.reference, {
      label: trans.__('Choose Reference of HipKittens Cell…'),
      caption: trans.__('Say what the current cell is verified against, and verify it'),
      ...withCell,
      execute: () => verify(true)
    });
    commands.addCommand(CommandIDs.profile, {
      label: trans.__('Profile HipKittens Cell'),
      caption: trans.__('Run the current cell with counters; shows where the time goes, line by line'),
      ...withCell,
      execute: () => runOptions(['--profile'])
    });
    commands.addCommand(CommandIDs.sanitize, {
      label: trans.__('Sanitize HipKittens Cell'),
      caption: understandsCaption(trans.__('Run the current cell with checks of memory and races')),
      isEnabled: () => cell() !== null && (model.state === null || understands('--sanitize')),
      execute: () => runOptions(['--sanitize'])
    });
    commands.addCommand(CommandIDs.isa, {
      label: args =>
        args.path ? trans.__('ISA of %1', String(args.module)) : trans.__('Show Machine Code (ISA)'),
      caption: trans.__('Open the machine code of the current cell beside the notebook'),
      icon: isaIcon,
      isEnabled: args => Boolean(args.module) || cell() !== null,
      execute: args => {
        const line = cell()?.model.sharedModel.getSource().split('\n', 1)[0] ?? '';
        const module = String(args.module ?? '') || moduleName(line);
        const path = String(args.path ?? '') || (tracker.currentWidget?.context.path ?? '');
        if (module && path) {
          openIsa({ path, module, kernel: String(args.kernel ?? '') });
        }
      }
    });
    commands.addCommand(CommandIDs.dashboard, {
      label: trans.__('Open HipKittens Dashboard'),
      caption: trans.__('Runs, counters and roofline of this notebook, live'),
      icon: dashboardIcon,
      isEnabled: args =>
        Boolean(args.path) ||
        (tracker.currentWidget !== null && (model.state?.functions.includes('dashboard') ?? true)),
      execute: args => {
        const path = String(args.path ?? '') || tracker.currentWidget?.context.path;
        if (path) {
          openDashboard(path, args.restored !== true);
        }
      }
    });
    commands.addCommand(CommandIDs.toggleHeat, {
      label: trans.__('Show Line Heat'),
      isToggled: () => shared.preferences.lineHeat,
      execute: () => shared.preferences.set('lineHeat', !shared.preferences.lineHeat)
    });
    for (const [id, label, forward] of [
      [CommandIDs.nextFinding, trans.__('Next Finding in Cell'), true],
      [CommandIDs.previousFinding, trans.__('Previous Finding in Cell'), false]
    ] as const) {
      commands.addCommand(id, {
        label,
        ...withCell,
        execute: () => {
          const editor = cell()?.editor as CodeMirrorEditor | undefined;
          if (editor) {
            editor.focus();
            goToFinding(editor.editor, forward);
          }
        }
      });
    }
    const openHeader = (header: IHeader, path: string) => {
      let widget = headers.get(header.file);
      if (!widget || widget.content.header.text !== header.text) {
        widget?.dispose();
        const made = new MainAreaWidget({ content: new HeaderView(header, trans) });
        made.id = `${ID}-header-${header.file.replace(/\W+/g, '-')}`;
        made.title.label = header.file.split('/').pop() ?? header.file;
        made.title.caption = header.file;
        made.title.closable = true;
        made.disposed.connect(() => headers.delete(header.file));
        headers.set(header.file, made);
        place(made, path);
        widget = made;
      }
      show(widget);
      widget.content.goTo(header.line);
    };
    // What a question to the kernel is about, with what it says where it cannot answer.
    const askKernel = async (act: (current: CodeCell, line: KernelLine) => Promise<void>) => {
      const panel = tracker.currentWidget;
      const current = cell();
      if (panel && current) {
        await loadWorkbench(panel);
        await act(current, kernelLine(panel.sessionContext)).catch((error: Error) => {
          Notification.warning(error.message);
        });
      }
    };
    commands.addCommand(CommandIDs.definition, {
      label: trans.__('Go to Definition'),
      caption: trans.__('Go to where the name at the cursor is declared, in the cell or in a header'),
      ...withCell,
      execute: () =>
        askKernel(async (current, line) => {
          const header = await goToDefinition(current, line);
          if (header) {
            openHeader(header, tracker.currentWidget?.context.path ?? '');
          } else if (header === undefined) {
            Notification.info(trans.__('No declaration of the name at the cursor is known.'));
          }
        })
    });
    commands.addCommand(CommandIDs.format, {
      label: trans.__('Format Cell'),
      caption: trans.__('Bring the C++ of the current cell to form with clang-format'),
      ...withCell,
      execute: () => askKernel(formatCell)
    });
    commands.addCommand(CommandIDs.savePage, {
      label: trans.__('Save as One Page…'),
      caption: trans.__('Write this notebook, its runs, figures and machine code as one HTML file beside it'),
      isEnabled: () => tracker.currentWidget !== null,
      execute: async () => {
        const panel = tracker.currentWidget;
        if (panel) {
          await panel.context.save();
          const said = await savePage(panel);
          if (said.error) {
            Notification.error(said.error);
          } else {
            Notification.success(trans.__('Saved as %1', said.page));
          }
        }
      }
    });
    commands.addCommand(CommandIDs.showSidebar, {
      label: trans.__('Show HipKittens Workbench'),
      icon: workbenchIcon,
      execute: () => shell.activateById(sidebar.id)
    });
    commands.addCommand(CommandIDs.guide, {
      label: trans.__('HipKittens: What Is Where'),
      execute: async () => {
        await shared.preferences.set('welcome', true);
        shell.activateById(sidebar.id);
      }
    });
    const titleOf = (name: unknown) => TEMPLATES.find(template => template.name === name)?.title;
    const aboutOf = (name: unknown) => TEMPLATES.find(template => template.name === name)?.about;
    commands.addCommand(CommandIDs.newNotebook, {
      label: args => titleOf(args.template) ?? trans.__('New HipKittens Notebook from Template…'),
      caption: args =>
        aboutOf(args.template) ?? trans.__('Open a notebook with a kernel, its launch, inputs and reference'),
      icon: workbenchIcon,
      execute: async args => {
        const template = await chooseTemplate(String(args.template ?? ''), trans);
        if (!template) {
          return;
        }
        const { contents, kernelspecs } = app.serviceManager;
        await kernelspecs.ready;
        const folder = String(args.cwd ?? PathExt.dirname(tracker.currentWidget?.context.path ?? ''));
        const kernel = kernelspecs.specs?.default ?? 'python3';
        const path = await createNotebook(contents, template, kernel, folder);
        // Notebook 7 opens it in a page of its own.
        const panel = (await commands.execute('docmanager:open', { path })) as NotebookPanel | undefined;
        await panel?.revealed;
        if (panel) {
          selectKernel(panel.content);
        }
      }
    });
    commands.addCommand(CommandIDs.insertTemplate, {
      label: args => titleOf(args.template) ?? trans.__('Insert Kernel from Template…'),
      caption: trans.__('Insert a kernel below, with launch, inputs and reference, from a template'),
      icon: workbenchIcon,
      isEnabled: () => tracker.currentWidget !== null,
      // The toolbar of cells has room for it where the notebook is one of ours.
      isVisible: args => !args.toolbar || model.mentionsUs,
      execute: async args => {
        const notebook = tracker.currentWidget?.content;
        const template = notebook && (await chooseTemplate(String(args.template ?? ''), trans));
        if (notebook && template) {
          insertTemplate(notebook, template);
        }
      }
    });
    TEMPLATES.forEach(({ name: template }, rank) => {
      launcher?.add({ command: CommandIDs.newNotebook, args: { template }, category: 'HipKittens', rank });
    });
    commands.addCommand(CommandIDs.tutorials, {
      label: args => (args.isLauncher ? trans.__('HipKittens Tutorial') : trans.__('HipKittens: Tutorials')),
      caption: trans.__('Open the first HipKittens tutorial, and the sidebar that says what is where'),
      icon: workbenchIcon,
      execute: async () => {
        await commands.execute(CommandIDs.guide);
        const path = await firstTutorial(app.serviceManager.contents);
        if (path) {
          await commands.execute('docmanager:open', { path });
        } else {
          Notification.info(
            trans.__(
              'The tutorials are not in this folder. They are in the folder notebooks of the HipKittens workbench.'
            )
          );
        }
      }
    });
    launcher?.add({
      command: CommandIDs.tutorials,
      args: { isLauncher: true },
      // A category of its own would stand below all others, out of sight.
      category: 'Notebook',
      kernelIconUrl: cardUrl(),
      rank: 1
    });
    commands.addCommand(CommandIDs.clearHistory, {
      label: trans.__('Clear HipKittens Run History'),
      isEnabled: () => tracker.currentWidget !== null,
      execute: () => history.clear(tracker.currentWidget?.context.path ?? '')
    });

    const all = Object.values(CommandIDs);
    for (const command of all) {
      palette?.addItem({ command, category: 'HipKittens' });
    }
    if (mainMenu) {
      const menu = new Menu({ commands });
      menu.title.label = 'HipKittens';
      menu.id = `${ID}-menu`;
      for (const command of all) {
        menu.addItem({ command });
      }
      mainMenu.helpMenu.addGroup([{ command: CommandIDs.tutorials }, { command: CommandIDs.guide }], 20);
      mainMenu.addMenu(menu, false, { rank: 450 });
    }
    void restorer?.restore(views, {
      command: CommandIDs.isa,
      args: ({ content }) => ({ ...content.target }),
      name: ({ id }) => id
    });
    void restorer?.restore(dashboards, {
      command: CommandIDs.dashboard,
      args: ({ content }) => ({ path: content.path, restored: true }),
      name: ({ id }) => id
    });

    function understandsCaption(caption: string): () => string {
      return () =>
        model.state === null
          ? caption
          : understands('--sanitize')
            ? caption
            : trans.__('This version of the workbench in the kernel has no sanitizer.');
    }
  }
};

function pathOf(view: IsaView | DashboardView): string {
  return view instanceof IsaView ? view.target.path : view.path;
}

export default [services, editors, completion, workbench];
